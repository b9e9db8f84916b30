(* Karma in dominant shares. *)
From proofs Require Import sums.
From proofs Require lemmas foundations.
Local Open Scope R_scope.
(* {model} *)
Record karma := Karma {
  n : nat; m : nat;             (* users and resources, numbered from 0 *)
  d : nat -> nat -> R;          (* what user i takes of resource j per unit of its dominant share *)
  alpha : R;
  credit : nat -> R;
  claim : nat -> option R       (* None: no bound *)
}.
Record model K : Prop := {
  users : (0 < n K)%nat;
  demand : forall i j, 0 <= d K i j <= 1;
  dominant : forall i, ∃ k < m K, d K i k = 1;
  guarantee : 0 <= alpha K <= 1;
  credit_ge0 : forall i, 0 <= credit K i;
  claim_ge0 : forall i, lemmas.within 0 (claim K i)
}.
Definition positive K := forall i j, (j < m K)%nat -> 0 < d K i j.
Definition unbounded K := forall i, claim K i = None.
Definition g K := alpha K / INR (n K).
Definition free K i := match claim K i with Some b => Rmin (g K) b | None => g K end.
(* User i stops at the level stop i. So this is what it has borrowed and what it has when lambda has come down to x. *)
Definition borrowed K (stop : nat -> R) x i := Rmax 0 (credit K i - Rmax x (stop i)).
Definition share K stop x i := free K i + borrowed K stop x i.
Definition use K stop x j := Σ i < n K, share K stop x i * d K i j.
(* All fits, nobody has more than it claims, and each stops for one of the three reasons. *)
Definition outcome K stop := (∀ j < m K, use K stop 0 j <= 1) /\ ∀ i < n K, 0 <= stop i /\
  lemmas.within (share K stop 0 i) (claim K i) /\ (claim K i = Some (share K stop 0 i) \/ stop i = 0 \/
  ∃ j < m K, 0 < d K i j /\ use K stop (stop i) j = 1).
(* What node i can do with what user h has: every dominant share z that there is room for *)
Definition room K i (bundle : nat -> R) z := ∀ j < m K, d K i j * z <= bundle j.
Definition has K stop := share K stop 0.
(* Nobody can have more unless somebody has less. *)
Definition pareto K s := foundations.efficient (foundations.Pool (n K) (m K) (d K) (fun _ => 1) (fun _ => None)) s.
(* Q is K but for what user i claims. *)
Definition lies K Q i := n Q = n K /\ m Q = m K /\ alpha Q = alpha K /\ (forall h, credit Q h = credit K h) /\
  forall h, h <> i -> claim Q h = claim K h /\ forall j, d Q h j = d K h j.
(* For what is borrowed donors earn credits, each at most what it donates, in any order. *)
Definition donates K i := g K - free K i.
Definition earns K stop (e : nat -> R) := (forall i, 0 <= e i <= donates K i) /\
  (Σ i < n K, e i) = Rmin (Σ i < n K, borrowed K stop 0 i) (Σ i < n K, donates K i).
(* The credits of Q are those that the phase K leaves, and the new ones. *)
Definition follows K stop Q := n Q = n K /\ m Q = m K /\ alpha Q = alpha K /\ exists e, earns K stop e /\
  forall i, credit Q i = credit K i - borrowed K stop 0 i + e i + (1 - alpha K) / INR (n K).
(* {end} *)
Lemma n_pos K : model K -> 0 < INR (n K) /\ 0 <= g K /\ INR (n K) * g K = alpha K.
Proof. intros M. assert (N : 0 < INR (n K)) by (apply (lt_INR 0), users; auto). pose proof (guarantee K M). unfold g.
  repeat split; auto; [apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; auto]|field; lra]. Qed.
Lemma rises K stop x y i : x <= y -> share K stop y i <= share K stop x i.
Proof. intros L. unfold share, borrowed. minmax. Qed.
Lemma before K stop x i : (forall i, 0 <= stop i) -> stop i <= x ->
  share K stop x i = free K i + Rmax 0 (credit K i - x).
Proof. intros S L. unfold share, borrowed. rewrite (Rmax_left x) by auto. auto. Qed.
(* Where all need a resource, nobody rises once it is used up. *)
Lemma frozen K stop x j : model K -> (∀ i < n K, 0 < d K i j) -> use K stop x j = 1 -> use K stop 0 j <= 1 -> 0 <= x ->
  ∀ i < n K, share K stop 0 i = share K stop x i.
Proof. intros M D U F X i I. apply Rle_antisym; [|apply rises; auto]. suppose G. assert (use K stop x j < use K stop 0
  j); [|lra]. apply sum_lt with i; auto. intros h H. apply Rmult_le_compat_r; [apply demand; auto|apply rises; auto].
  Qed.
(* {prop-cbdrf-karma} All borrow down to one lambda, and if it is above 0, a resource is used up. *)
Theorem one_lambda K stop : model K -> positive K -> unbounded K -> outcome K stop -> exists lambda, 0 <= lambda /\
  (∀ i < n K, has K stop i = g K + Rmax 0 (credit K i - lambda)) /\ (0 < lambda -> ∃ j < m K, use K stop 0 j = 1).
Proof. intros M Po Un [F R]. destruct (least (n K) (fun _ => True) (fun i => - stop i)) as [i [I [_ L]]]; [auto| exists
  O; split; [apply users; auto|auto]|]. destruct (R i I) as [S0 [_ Re]]. exists (stop i). assert (at_ : forall h, (h < n
  K)%nat -> share K stop (stop i) h = g K + Rmax 0 (credit K h - stop i)). { intros h H. specialize (L h H Logic.I).
  simpl in L. unfold share, borrowed, free. rewrite Un, (Rmax_left (stop i)); lra. } destruct Re as [E|[Z|[j [J [_
  U]]]]]; [rewrite Un in E; discriminate| |].
  - split; [lra|split; [|lra]]. intros h H. unfold has. rewrite <- (at_ h H), Z. auto.
  - assert (Fr := frozen K stop (stop i) j M ltac:(intros; apply Po; auto) U (F j J) S0). split; [auto|split].
    + intros h H. unfold has. rewrite Fr by auto. auto.
    + intros _. exists j. split; [auto|]. rewrite <- U. apply sum_ext; intros h H. rewrite Fr; auto. Qed.
Lemma has_ge K stop i : g K <= free K i -> g K <= has K stop i.
Proof. unfold has, share, borrowed. pose proof (Rmax_l 0 (credit K i - Rmax 0 (stop i))). lra. Qed.
(* {prop-cbdrf-karma} Part 1 *)
Theorem no_envy K stop i h z : model K -> positive K -> unbounded K -> outcome K stop -> (i < n K)%nat ->
  (h < n K)%nat -> (credit K h <= credit K i -> room K i (fun j => has K stop h * d K h j) z -> z <= has K stop i) /\
  g K <= has K stop i.
Proof. intros M Po Un O I H. split; [|apply has_ge; unfold free; rewrite Un; lra]. intros Le R. destruct (one_lambda K
  stop M Po Un O) as [l [L0 [E _]]]. destruct (dominant K M i) as [j [J D]]. specialize (R j J). rewrite D in R. pose
  proof (demand K M h j). pose proof (n_pos K M). rewrite E in * by auto. assert (Rmax 0 (credit K h - l) <= Rmax 0
  (credit K i - l)) by minmax. pose proof (Rmax_l 0 (credit K h - l)). nra. Qed.
(* {prop-cbdrf-karma} Part 2: with what it gets under the claim, user i could have the dominant share z. *)
Theorem no_lie_pays K Q stop stop' i z : model K -> model Q -> positive K -> unbounded K -> lies K Q i ->
  (i < n K)%nat -> outcome K stop -> outcome Q stop' -> room K i (fun j => has Q stop' i * d Q i j) z ->
  z <= has K stop i.
Proof. intros M Mq Po Un [en [em [ea [ec eo]]]] I O O' R. unfold room in R. suppose G. destruct (one_lambda K stop M Po
  Un O) as [l [L0 [E Up]]]. pose proof (n_pos K M) as [N0 [G0 _]]. assert (eg : g Q = g K) by (unfold g; rewrite ea, en;
  auto). assert (Hi : g K <= has K stop i) by (apply has_ge; unfold free; rewrite Un; lra). assert (Pq : forall h j, (j
  < m K)%nat -> 0 < d Q h j). { intros h j J. destruct (Nat.eq_dec h i) as [->|N]; [|destruct (eo h N) as [_ ->]; apply
  Po; auto]. specialize (R j J). pose proof (Po i j J). pose proof (demand Q Mq i j). assert (0 < d K i j * z) by (apply
  Rmult_lt_0_compat; lra). destruct (Req_dec (d Q i j) 0) as [Z|]; [rewrite Z in R|]; lra. } assert (Zs : z <= has Q
  stop' i). { destruct (dominant K M i) as [j [J D]]. specialize (R j J). rewrite D in R. pose proof (demand Q Mq i j).
  assert (0 <= has Q stop' i); [|nra]. suppose Neg. nra. } rewrite (E i I) in G. assert (Fr : free Q i <= g K) by
  (unfold free; rewrite eg; destruct (claim Q i); minmax). assert (Sl : 0 <= stop' i < l /\ stop' i < credit K i). {
  unfold has, share, borrowed in Zs. rewrite ec in Zs. destruct O' as [_ O']. destruct (O' i ltac:(lia)) as [S0 _].
  rewrite (Rmax_right 0 (stop' i)) in Zs by auto. minmax. } assert (others : ∀ h < n K, h <> i -> has K stop h <= has Q
  stop' h). { intros h H N. rewrite (E h H). destruct O' as [F' O']. destruct (O' h ltac:(lia)) as [S0 [_ Re]]. destruct
  (eo h N) as [Ec Ed]. assert (low : stop' h <= l -> g K + Rmax 0 (credit K h - l) <= has Q stop' h). { intros L. unfold
  has, share, borrowed, free. rewrite Ec, Un, ec, eg, (Rmax_right 0 (stop' h)) by auto. minmax. } destruct Re as
  [Q1|[Z|[k [Kk [_ U]]]]]; [rewrite Ec, Un in Q1; discriminate|apply low; lra|]. destruct (Rle_lt_dec (stop' h) l) as
  [L|L]; [auto|exfalso]. pose proof (frozen Q stop' (stop' h) k Mq ltac:(intros; apply Pq; lia) U (F' k Kk) S0 i
  ltac:(lia)) as Fz. unfold has in Zs. rewrite Fz in Zs. unfold share, borrowed in Zs. rewrite ec, (Rmax_left (stop' h))
  in Zs by lra. minmax. } destruct Up as [j [J U]]; [lra|]. destruct O' as [F' _]. specialize (F' j ltac:(lia)). assert
  (use K stop 0 j < use Q stop' 0 j); [|lra]. unfold use. rewrite en. apply sum_lt with i; auto.
  - intros h H. destruct (Nat.eq_dec h i) as [->|N].
    + specialize (R j J). fold (has K stop i) (has Q stop' i). rewrite (E i I). pose proof (Po i j J). nra.
    + destruct (eo h N) as [_ ->]. apply Rmult_le_compat_r; [apply demand; auto|apply others; auto].
  - specialize (R j J). fold (has K stop i) (has Q stop' i). rewrite (E i I). pose proof (Po i j J). nra. Qed.
Lemma used_up K stop i : model K -> positive K -> unbounded K -> outcome K stop -> (i < n K)%nat -> 1 <= credit K i ->
  ∃ j < m K, use K stop 0 j = 1.
Proof. intros M Po Un O I C. destruct (one_lambda K stop M Po Un O) as [l [L0 [E Up]]]. destruct (Rle_lt_or_eq_dec 0 l
  L0) as [G|Z]; [auto|]. destruct (dominant K M i) as [j [J D]]. exists j. split; [auto|]. apply Rle_antisym; [apply O;
  auto|]. pose proof (n_pos K M) as Np. apply Rle_trans with (share K stop 0 i * d K i j).
  - rewrite D. fold (has K stop i). rewrite E by auto. minmax.
  - apply (sum_term (n K) (fun i => share K stop 0 i * d K i j)); auto. intros h H. apply Rmult_le_pos; [|apply demand;
    auto]. fold (has K stop h). rewrite E by auto. minmax. Qed.
(* {prop-cbdrf-karma} Part 3 *)
Theorem efficient K stop i : model K -> positive K -> unbounded K -> outcome K stop -> (i < n K)%nat ->
  1 <= credit K i -> pareto K (has K stop) /\ ((∀ h < n K, credit K h <= credit K i) -> 1 / INR (n K) <= has K stop i).
Proof. intros M Po Un O I C. destruct (used_up K stop i M Po Un O I C) as [j [J U]]. destruct (one_lambda K stop M Po Un
  O) as [l [L0 [E _]]]. pose proof (n_pos K M) as [N0 [G0 _]]. split.
  - intros x z [X Z] Le h H. suppose Lt. simpl in *. specialize (X j J). assert (use K stop 0 j < Σ i < n K, x i j);
    [|lra]. apply sum_lt with h; auto; [intros k Kk|]; destruct (Z _ ltac:(eassumption)) as [_ R]; specialize (R j J).
    + specialize (Le k Kk). unfold has in Le. pose proof (Po k j J). nra.
    + unfold has in Lt. pose proof (Po h j J). nra.
  - intros Mx. assert (1 <= INR (n K) * has K stop i); [|apply Rmult_le_reg_l with (INR (n K)); auto; replace (INR (n K)
    * (1 / INR (n K))) with 1 by (field; lra); lra]. rewrite <- U at 1. rewrite <- sum_const. apply sum_le; intros h H.
    fold (has K stop h). rewrite !E by auto. specialize (Mx h H). pose proof (demand K M h j). assert (0 <= Rmax 0
    (credit K h - l) <= Rmax 0 (credit K i - l)) by minmax. nra. Qed.
(* {prop-cbdrf-karma} Part 4: two users of one resource *)
Theorem credit_decides alpha : 0 <= alpha < 1 -> let K := Karma 2 1 (fun _ _ => 1) alpha (fun i => match i with O => 1 |
  _ => 0 end) (fun _ => None) in exists stop, model K /\ positive K /\ outcome K stop /\ has K stop 1 < 1 / INR (n K) /\
  room K 1 (fun j => has K stop 0 * d K 0 j) (has K stop 0) /\ has K stop 1 < has K stop 0.
Proof. intros A K. exists (fun _ => alpha). assert (S0 : forall x, 0 <= x <= alpha -> share K (fun _ => alpha) x 0 = 1 -
  alpha / 2 /\ share K (fun _ => alpha) x 1 = alpha / 2). { intros x X. unfold share, borrowed, free, g. simpl. rewrite
  (Rmax_right x), (Rmax_right 0 (1 - alpha)), (Rmax_left 0 (0 - alpha)) by lra. lra. } assert (U : forall x j, 0 <= x <=
  alpha -> use K (fun _ => alpha) x j = 1). { intros x j X. unfold use. destruct (S0 x X) as [E0 E1]. simpl. rewrite E0,
  E1. lra. } unfold has, room. destruct (S0 0 ltac:(lra)) as [-> ->]. split; [|split; [|split; [|split; [|split]]]].
  - split; simpl; intros; try lia; try lra; try exact Logic.I; [exists O; split; [lia|auto]|destruct i; lra].
  - intros i j _. simpl. lra.
  - split; [intros; rewrite U; lra|]. intros i _. split; [lra|split; [exact Logic.I|right; right; exists O]]. simpl.
    rewrite U by lra. repeat split; [lia|lra].
  - simpl. lra.
  - intros j _. simpl. lra.
  - lra. Qed.
(* {prop-cbdrf-karma} Part 5: K and Q are the phases if i claims without bound, K' and Q' those if it claims nothing in
   the first. *)
Theorem waiting_pays K Q K' Q' stop after stop' after' i c : model K -> model Q -> model K' -> model Q' -> positive K ->
  positive Q -> unbounded K -> unbounded Q -> alpha K < 1 -> (2 <= n K)%nat -> (i < n K)%nat -> 1 <= c -> (forall h,
  credit K h = c) -> lies K K' i -> claim K' i = Some 0 -> unbounded Q' -> (forall h j, d Q' h j = d Q h j) ->
  outcome K stop -> follows K stop Q -> outcome Q after -> outcome K' stop' -> follows K' stop' Q' ->
  outcome Q' after' -> has Q after i < has Q' after' i.
Proof. intros M Mq M' Mq' Po Poq Un Unq A N2 I C1 Cr [en' [em' [ea' [ec' eo']]]] Z Unq' Dq O Fo Oq O' Fo' Oq'. destruct
  Fo as [en [em [ea [e [[E0 _] Ce]]]]], Fo' as [fn [fm [fa [f [[F0 _] Cf]]]]]. destruct (n_pos K M) as [N0 [G0 Gn]],
  (n_pos K' M') as [_ [G0' Gn']], (n_pos Q' Mq') as [_ [G0q Gnq]]. assert (eg' : g K' = g K /\ g Q' = g K) by (unfold g;
  rewrite fa, fn, ea', en'; auto). destruct eg' as [eg' egq]. (* all that borrow nothing have what is guaranteed, and
  that leaves room *) assert (little : forall P (s : nat -> R) j, model P -> n P = n K -> (∀ h < n K, 0 <= s h <= g K)
  -> (Σ h < n K, s h * d P h j) < 1). { intros P s j MP _ S. apply Rle_lt_trans with (Σ h < n K, g K); [|rewrite
  sum_const; lra].
  apply sum_le; intros h H. specialize (S h H). pose proof (demand P MP h j). nra. } assert (Fi : free K' i = 0) by
  (unfold free; rewrite Z, eg'; apply Rmin_right; auto). assert (Fh : forall h, h <> i -> free K' h = g K) by (intros h
  N; unfold free; destruct (eo' h N) as [-> _]; rewrite Un; auto). assert (B0 : borrowed K' stop' 0 i = 0). { destruct
  O' as [_ R]. destruct (R i ltac:(lia)) as [_ [W _]]. rewrite Z in W. simpl in W. unfold share in W. rewrite Fi in W.
  unfold borrowed in *. minmax. } assert (Bh : ∀ h < n K, h <> i -> 0 < borrowed K' stop' 0 h). { intros h H N. destruct
  O' as [F R]. destruct (R h ltac:(lia)) as [S0 [_ Re]]. destruct (eo' h N) as [Ec _]. unfold borrowed. rewrite ec', Cr.
  rewrite (Rmax_right 0 (stop' h)) by auto. suppose L. assert (Lo : c <= stop' h) by minmax. destruct Re as [X|[X|[j [J
  [_ U]]]]]; [rewrite Ec, Un in X; discriminate|lra|]. unfold use in U. rewrite en' in U. assert (X := little K' (share
  K' stop' (stop' h)) j M' en'). rewrite U in X. apply Rlt_irrefl with 1, X. intros k Kk. unfold share, borrowed.
  rewrite ec', Cr, (Rmax_left 0 (c - _)) by minmax. destruct (Nat.eq_dec k i) as [->|Nk]; [rewrite Fi|rewrite Fh by
  auto]; lra. } assert (R0 : 0 <= (1 - alpha K') / INR (n K')) by (rewrite ea', en'; apply Rmult_le_pos; [lra|apply
  Rlt_le, Rinv_0_lt_compat; auto]). assert (Ci : 1 <= credit Q' i) by (rewrite Cf, ec', Cr, B0; pose proof (F0 i); lra).
  assert (Ch : ∀ h < n K, h <> i -> credit Q' h < credit Q' i). { intros h H N. rewrite !Cf, !ec', !Cr, B0. pose proof
  (F0 i). pose proof (F0 h) as Fz. unfold donates in Fz. rewrite (Fh h N), eg' in Fz. specialize (Bh h H N). lra. }
  assert (Po' : positive Q') by (intros h j J; rewrite Dq; apply Poq; rewrite em, <- em', <- fm; auto). destruct
  (used_up Q' after' i Mq' Po' Unq' Oq' ltac:(lia) Ci) as [j [J U]]. destruct (one_lambda Q' after' Mq' Po' Unq' Oq') as
  [l' [L0' [E' _]]]. rewrite fn, en' in E'. assert (Li : l' < credit Q' i). { suppose L. unfold use in U. rewrite fn,
  en' in U. assert (X := little Q' (has Q' after') j Mq' ltac:(lia)). unfold has in X. rewrite U in X. apply Rlt_irrefl
  with 1, X. intros h H. fold (has Q' after' h). rewrite E' by auto. rewrite egq. destruct (Nat.eq_dec h i) as [->|N];
  [|specialize (Ch h H N)]; minmax. } destruct (one_lambda K stop M Po Un O) as [l [L0 [E _]]]. destruct (one_lambda Q
  after Mq Poq Unq Oq) as [l2 [L2 [E2 _]]]. assert (same : ∀ h < n K, credit Q h = credit Q i). { assert (X : ∀ h < n K,
  credit Q h = c - Rmax 0 (c - l) + (1 - alpha K) / INR (n K)); [|intros h H; rewrite !X; auto]. intros h H. rewrite Ce,
  Cr. specialize (E h H). unfold has, share in E. pose proof (E0 h) as Z0. unfold donates, free in *. rewrite Un, Cr in
  *. lra. } suppose G. assert (X : use Q' after' 0 j < use Q after 0 j). { unfold use. rewrite fn, en', en. assert (h0 :
  ∃ h < n K, h <> i) by (destruct i; [exists 1%nat|exists 0%nat]; lia). destruct h0 as [h0 [H0 N0']]. assert (lt : ∀ h <
  n K, h <> i -> has Q' after' h < has Q' after' i) by (intros h H N; rewrite !E' by auto; specialize (Ch h H N);
  minmax). assert (eq : ∀ h < n K, has Q after h = has Q after i) by (intros h H; rewrite !E2 by lia; rewrite same by
  auto; auto). apply sum_lt with h0; auto; [intros h H|]; rewrite Dq; [apply Rmult_le_compat_r|apply Rmult_lt_compat_r].
    - apply demand; auto.
    - fold (has Q' after' h) (has Q after h). rewrite eq by auto. destruct (Nat.eq_dec h i) as [->|N]; [auto|].
      specialize (lt h H N). lra.
    - apply Poq. lia.
    - fold (has Q' after' h0) (has Q after h0). rewrite eq by auto. specialize (lt h0 H0 N0'). lra. } pose proof (proj1
      Oq j ltac:(lia)). lra. Qed.
(* {whole} prop-cbdrf-karma *)
