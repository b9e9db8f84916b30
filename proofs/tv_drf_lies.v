(* TV-DRF: what a user can gain by a claim. *)
From proofs Require Import sums lemmas tv_drf.
Local Open Scope R_scope.
(* ---------------------------------------------------------------------------------------------- lies *)
(* {model} *)
(* Q is the period P as it is when user i claims something else about what it submits in it, and nothing before. *)
Definition lies P Q i := t Q = t P /\ n (C Q) = n (C P) /\ m (C Q) = m (C P) /\ K (C Q) = K (C P) /\
  (forall k j, c (C Q) k j = c (C P) k j) /\ (forall h, w (C Q) h = w (C P) h) /\
  (forall h, start Q h = start P h /\ past Q h = past P h) /\ (forall h, h <> i -> lower Q h = lower P h) /\
  forall h s, h <> i \/ (s < t P)%nat -> size (C Q) h s = size (C P) h s /\ forall j, a (C Q) h s j = a (C P) h s j.

(* What it submitted before the period ends at position old; of the new tasks z fit into the parts that are left. *)
Definition old P i := submitted (C P) i (t P).
Definition new P i (left : nat -> nat -> R) z := 0 <= z <= size (C P) i (t P) /\ exists y, (forall k, 0 <= y k) /\
  (Σ k < K (C P), y k) = z /\
  forall k j, (k < K (C P))%nat -> (j < m (C P))%nat -> y k * a (C P) i (t P) j <= left k j.
Definition most P i left N := new P i left N /\ forall z, new P i left z -> z <= N.

(* Alone, user i goes on in its queue from x, on its own parts of the machines. When it comes to group s it has left s k j
   there, room for N s k of it on machine k, and spreads over the machines in proportion; ran s is what it runs of it. *)
Definition goes_alone C own T i x left N ran := (forall k j, left 0%nat k j = own k j) /\ ∀ s < S T,
  ran s = Rmin (size C i s - part C i s x) (Σ k < K C, N s k) /\ ∀ k < K C, 0 <= N s k /\
  (∃ j < m C, N s k * a C i s j = left s k j) /\ ∀ j < m C, N s k * a C i s j <= left s k j /\
  left (S s) k j = left s k j - ran s * (N s k / Σ h < K C, N s h) * a C i s j.
(* Its floor: what it would have run alone by the end of the period and has not run yet. *)
Definition floor_alone P own i x left N ran := goes_alone (C P) own (t P) i x left N ran /\
  position P (lower P) i = Rmax (start P i) (x + Σ s < S (t P), ran s).
Definition no_floors P Q := forall h, lower P h = past P h /\ lower Q h = past P h.

(* Under the lie it gets q; with what it gets for claimed new tasks on machine k it can run y k true ones, z in all. *)
Definition true_tasks P Q i g' z := 0 <= z <= size (C P) i (t P) /\ exists q y, places (C Q) (t Q) (start Q)
  (position Q g') q /\
  (forall k, 0 <= y k) /\ (Σ k < K (C P), y k) = z /\
  forall k j, (k < K (C P))%nat -> (j < m (C P))%nat -> y k * a (C P) i (t P) j <= q i (t P) k * a (C Q) i (t P) j.
(* how far it gets in its true tasks: first the old ones, then the new *)
Definition reached P Q i g' z := Rmin (position Q g' i) (old P i) + z.
(* {end} *)
Lemma lies_submitted P Q i h s : lies P Q i -> h <> i \/ (s <= t P)%nat -> submitted (C Q) h s = submitted (C P) h s.
Proof. intros [_ [_ [_ [_ [_ [_ [_ [_ Sa]]]]]]]] D. apply sum_ext; intros r R. apply Sa.
  destruct D; [auto|right; lia]. Qed.

(* The floors of the liar: alone it does not get beyond its old tasks, or it does, and then runs as many new ones as
   fit. *)
Definition floors P Q i := (lower Q i = lower P i /\ position P (lower P) i <= old P i) \/ exists left N N',
  most P i left N /\ most Q i left N' /\ position P (lower P) i = old P i + N /\ position Q (lower Q) i = old P i + N'.
Lemma new_ext P i (left left' : nat -> nat -> R) z : (∀ k < K (C P), ∀ j < m (C P), left k j = left' k j) ->
  new P i left z -> new P i left' z.
Proof. intros E [Z [y [Y0 [Ys Yc]]]]. split; [auto|exists y; split; [auto|split; [auto|]]]. intros k j Kk J.
  rewrite <- E; auto. Qed.
Section alone.
Variables (C : course) (own : nat -> nat -> R) (T i : nat) (x : R) (left : nat -> nat -> nat -> R)
  (N : nat -> nat -> R) (ran : nat -> R).
Hypotheses (M : model C) (Po : positive C) (I : (i < n C)%nat) (G : goes_alone C own T i x left N ran).
Lemma share_of s k : (s < S T)%nat -> (k < K C)%nat -> 0 <= ran s -> 0 <= ran s * (N s k / Σ h < K C, N s h) <= N s k /\
  (Σ h < K C, N s h <= ran s -> ran s * (N s k / Σ h < K C, N s h) = N s k).
Proof. intros S0 Kk R0. destruct (proj2 G s S0) as [E Ma]. assert (T0 : N s k <= Σ h < K C, N s h) by
  (apply (sum_term (K C) (fun h => N s h)); auto; intros h H; apply (Ma h H)).
  pose proof (proj1 (Ma k Kk)) as Nk. pose proof (Rmin_r (size C i s - part C i s x) (Σ k < K C, N s k)) as Le.
  rewrite <- E in Le. destruct (Req_dec (Σ h < K C, N s h) 0) as [Z|Z].
  - assert (N s k = 0) as -> by lra. unfold Rdiv. rewrite Rmult_0_l, Rmult_0_r. lra.
  - set (S1 := Σ h < K C, N s h) in *. assert (0 < S1) by lra. assert (Q : ran s * (N s k / S1) = N s k * (ran s / S1))
    by (field; lra). rewrite Q. assert (0 <= ran s / S1 <= 1). { split; [apply Rmult_le_pos; [auto|apply Rlt_le,
    Rinv_0_lt_compat; auto]|]. apply Rmult_le_reg_r with S1; auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. }
    split; [nra|]. intros L. assert (ran s = S1) as -> by lra. field; lra. Qed.
Lemma ran_ge0 s : (s < S T)%nat -> 0 <= ran s <= size C i s - part C i s x.
Proof. intros S0. destruct (proj2 G s S0) as [-> Ma]. split; [|apply Rmin_l]. apply Rmin_glb.
  - pose proof (size_ge0 C M i s). unfold part. minmax.
  - apply sum_ge0; intros k Kk; apply (Ma k Kk). Qed.
(* the most of group T that fits into what is left when it comes to it *)
Lemma most_alone z y : (forall k, 0 <= y k) -> (Σ k < K C, y k) = z -> (forall k j, (k < K C)%nat -> (j < m C)%nat ->
  y k * a C i T j <= left T k j) -> z <= Σ k < K C, N T k.
Proof. intros Y0 <- Yc. apply sum_le; intros k Kk. destruct (proj2 G T (Nat.lt_succ_diag_r T)) as [_ Ma].
  destruct (Ma k Kk) as [_ [[j [J E]] _]]. specialize (Yc k j Kk J). rewrite <- E in Yc.
  apply Rmult_le_reg_r with (2 := Yc). apply Po; auto. Qed.
(* Once it does not finish a group it runs nothing more. *)
Lemma stuck s : (s < T)%nat -> ran s < size C i s - part C i s x -> forall r, (s < r < S T)%nat -> ran r = 0.
Proof. intros S0 L. assert (gone : forall r, (s < r <= S T)%nat -> ∀ k < K C, ∃ j < m C, left r k j = 0).
  { induction r as [|r IH]; intros Hr k Kk; [lia|]. destruct (proj2 G r ltac:(lia)) as [Er Mr].
    destruct (Mr k Kk) as [N0 [[j [J E]] St]]. pose proof (ran_ge0 r ltac:(lia)) as [R0 _].
    destruct (Nat.eq_dec r s) as [->|D].
    - exists j; split; [auto|]. destruct (St j J) as [_ ->]. destruct (share_of s k ltac:(lia) Kk R0) as [_ A].
      rewrite A; [lra|]. rewrite Er in *. revert L; unfold Rmin; destruct (Rle_dec _ _); lra.
    - destruct (IH ltac:(lia) k Kk) as [l [Hl Z]]. exists l; split; [auto|]. destruct (St l Hl) as [Le ->].
      rewrite Z in *. pose proof (Po i r l I Hl). assert (N r k = 0) as -> by nra. unfold Rdiv. ring. }
  intros r Hr. destruct (proj2 G r ltac:(lia)) as [Er Mr]. assert (Z : (Σ k < K C, N r k) = 0).
  { apply sum_zero; intros k Kk. destruct (gone r ltac:(lia) k Kk) as [j [J Z]]. destruct (Mr k Kk) as [N0 [_ St]].
    destruct (St j J) as [Le _]. rewrite Z in Le. pose proof (Po i r j I J). nra. }
  pose proof (ran_ge0 r ltac:(lia)) as [R0 _]. rewrite Z in Er. pose proof (Rmin_r (size C i r - part C i r x) 0). lra.
  Qed.
Lemma finished_or_stuck : 0 <= x <= submitted C i T -> x + (Σ s < T, ran s) <= submitted C i T /\
  (x + (Σ s < T, ran s) = submitted C i T \/ ran T = 0).
Proof. intros X. assert (Sum : (Σ s < T, (size C i s - part C i s x)) = submitted C i T - x).
  { pose proof (sum_plus T (fun s => size C i s - part C i s x) (fun s => part C i s x)) as E. simpl in E.
    rewrite parts, Rmin_left in E by (auto; lra). rewrite <- (sum_ext T (fun s => size C i s)) in E by (intros; ring).
    unfold submitted; lra. }
  destruct (some_or_none T ran (fun s => size C i s - part C i s x)) as [[s [S0 L]]|A].
  - split; [|right; apply (stuck s S0 L); lia]. assert ((Σ s < T, ran s) <= Σ s < T, (size C i s - part
    C i s x)); [|lra]. apply sum_le; intros r Hr. apply (ran_ge0 r ltac:(lia)).
  - assert (E : (Σ s < T, ran s) = submitted C i T - x); [|lra]. rewrite <- Sum. apply sum_ext; intros s S0.
    pose proof (ran_ge0 s ltac:(lia)). specialize (A s S0). simpl in A. lra. Qed.
End alone.
Lemma most_of_new P own i x left N ran : model (C P) -> positive (C P) -> (i < n (C P))%nat -> 0 <= x <= old P i ->
  goes_alone (C P) own (t P) i x left N ran -> most P i (left (t P)) (ran (t P)).
Proof. intros M Po I X G. pose proof (ran_ge0 (C P) own (t P) i x left N ran M G (t P) ltac:(lia)) as R0.
  assert (Z : part (C P) i (t P) x = 0) by (pose proof (size_ge0 (C P) M i (t P)); unfold part, old in *; minmax).
  rewrite Z in R0. destruct (proj2 G (t P) ltac:(lia)) as [E Ma]. rewrite Z in E. set (S := Σ k < K (C P), N (t P) k) in *.
  pose proof (Rmin_r (size (C P) i (t P) - 0) S) as L. rewrite <- E in L. split; [split; [lra|]|].
  - assert (sh : ∀ k < K (C P), 0 <= ran (t P) * (N (t P) k / S) <= N (t P) k) by (intros k Kk;
    apply (share_of (C P) own (t P) i x left N ran G (t P) k); auto; lra).
    exists (fun k => if lt_dec k (K (C P)) then ran (t P) * (N (t P) k / S) else 0). split; [|split].
    + intros k; destruct (lt_dec k (K (C P))); [apply sh; auto|lra].
    + rewrite (sum_ext (K (C P)) _ (fun k => N (t P) k * (ran (t P) / S))) by (intros k Kk; destruct (lt_dec k
      (K (C P))); [unfold Rdiv; ring|tauto]). rewrite sum_mul. fold S. destruct (Req_dec S 0) as [ZS|];
      [assert (ran (t P) = 0) as -> by lra; unfold Rdiv; ring|]. change (sum (K (C P)) (N (t P))) with S. field; auto.
    + intros k j Kk J. destruct (lt_dec k (K (C P))); [|tauto]. destruct (Ma k Kk) as [_ [_ B]].
      destruct (B j J) as [Le _]. apply Rle_trans with (2 := Le). apply Rmult_le_compat_r; [apply need_ge0; auto|].
      apply sh; auto.
  - intros z [Zr [y [Y0 [Ys Yc]]]]. rewrite E. apply Rmin_glb; [lra|].
    apply (most_alone (C P) own (t P) i x left N ran Po I G z y); auto. Qed.
(* Step (a): truth and lie are alike until the liar comes to its new tasks, so the floors agree. *)
Lemma floors_follow P Q i x left N ran left' N' ran' : let own := fun k j => p (C P) i k * c (C P) k j in proper P ->
  proper Q -> positive (C P) -> positive (C Q) -> lies P Q i -> (i < users P)%nat -> start P i <= old P i ->
  0 <= x <= old P i -> floor_alone P own i x left N ran -> floor_alone Q own i x left' N' ran' -> floors P Q i.
Proof. intros own [M _] [Mq _] Po Poq Li I St X [G E] [G' E'].
  pose proof Li as [Et [En [Em [Ek [Ec [Ew [Es [El Sa]]]]]]]]. unfold users in *. rewrite Et in *.
  assert (Iq : (i < n (C Q))%nat) by lia. destruct (Es i) as [Esi Epi].
  assert (same : forall s, (s <= t P)%nat -> (∀ k < K (C P), ∀ j < m (C P), left' s k j = left s k j) /\
    ∀ r < s, ran' r = ran r).
  { induction s as [|s IH]; intros Hs.
    - split; [intros k _ j _; rewrite (proj1 G), (proj1 G'); auto|intros; lia].
    - destruct (IH ltac:(lia)) as [Le Re]. destruct (proj2 G s ltac:(lia)) as [R1 S1], (proj2 G' s ltac:(lia)) as [R2 S2].
      rewrite Ek, Em in *. destruct (Sa i s ltac:(right; lia)) as [Ez Ea].
      assert (EN : ∀ k < K (C P), N' s k = N s k). { intros k Kk. destruct (S1 k Kk) as [_ [[j [J Q1]] B1]],
        (S2 k Kk) as [_ [[l [L Q2]] B2]]. destruct (B1 l L) as [U1 _], (B2 j J) as [U2 _]. rewrite Ea in *.
        rewrite Le in * by auto. pose proof (Po i s j I J); pose proof (Po i s l I L).
        rewrite <- Q1 in U2; rewrite <- Q2 in U1. apply Rmult_le_reg_r in U1; auto. apply Rmult_le_reg_r in U2; auto.
        lra. }
      assert (ES : (Σ k < K (C P), N' s k) = Σ k < K (C P), N s k) by (apply sum_ext; exact EN).
      assert (Er : ran' s = ran s). { rewrite R1, R2, Ez, ES. do 2 f_equal. unfold part.
        rewrite Ez, (lies_submitted P Q i i s Li) by (right; lia). auto. }
      split; [|intros r Hr; destruct (Nat.eq_dec r s) as [->|]; [auto|apply Re; lia]]. intros k Kk j J.
      destruct (S1 k Kk) as [_ [_ B1]], (S2 k Kk) as [_ [_ B2]]. destruct (B1 j J) as [_ ->], (B2 j J) as [_ ->].
      rewrite Er, EN, Ea, Le, ES by auto. auto. }
  destruct (same (t P) ltac:(lia)) as [Le Re]. assert (Sq : submitted (C Q) i (t P) = old P i) by
  (apply (lies_submitted P Q i i (t P) Li); right; lia). fold (old P i) in *.
  pose proof (finished_or_stuck (C P) own (t P) i x left N ran M Po I G X) as [U F]. fold (old P i) in U, F.
  pose proof (finished_or_stuck (C Q) own (t P) i x left' N' ran' Mq Poq Iq G' ltac:(rewrite Sq; exact X)) as [_ F'].
  rewrite Sq in F'. simpl in E, E'. assert (ER : (Σ s < t P, ran' s) = Σ s < t P, ran s)
    by (apply sum_ext; exact Re). rewrite ER in F', E'. rewrite Esi in E'.
  pose proof (ran_ge0 (C P) own (t P) i x left N ran M G (t P) ltac:(lia)) as R0.
  pose proof (ran_ge0 (C Q) own (t P) i x left' N' ran' Mq G' (t P) ltac:(lia)) as R0'.
  assert (stop : x + (Σ s < t P, ran s) < old P i -> floors P Q i).
  { intros L. destruct F as [F|F]; [lra|]. destruct F' as [F'|F']; [lra|]. rewrite F in E; rewrite F' in E'. left.
    split; [unfold position in *; lra|]. rewrite E. apply Rmax_lub; lra. }
  destruct (Rle_lt_or_eq_dec _ _ U) as [|End]; [auto|right]. exists (left (t P)), (ran (t P)), (ran' (t P)).
  split; [apply (most_of_new P own i x left N ran); auto|split; [|split]].
  - pose proof (most_of_new Q own i x left' N' ran' Mq Poq Iq) as B. rewrite Et in B. destruct B as [B1 B2]; auto;
    [unfold old; rewrite Et, Sq; exact X|]. split; [apply (new_ext Q i (left' (t P))); [intros k Kk j J; apply Le; lia|
    exact B1]|]. intros z Hz. apply B2. apply (new_ext Q i (left (t P))); [|exact Hz]. intros k Kk j J; symmetry.
    apply Le; lia.
  - rewrite E, <- Rplus_assoc, End. apply Rmax_right. lra.
  - rewrite E', <- Rplus_assoc, End. apply Rmax_right. lra. Qed.

Section lie.
Variables (P Q : period) (i : nat) (g g' : nat -> R) (z : R).
Hypotheses (Pr : proper P) (Prq : proper Q) (Po : positive (C P)) (Poq : positive (C Q)) (Li : lies P Q i) (I :
  (i < users P)%nat)
  (St : start P i <= old P i) (Ch : chosen P g) (Chq : chosen Q g') (Tr : true_tasks P Q i g' z).
Lemma lie_part h s x : h <> i \/ (s < t P)%nat -> part (C Q) h s x = part (C P) h s x.
Proof. intros D. unfold part. rewrite (lies_submitted P Q i h s Li) by (destruct D; [left; auto|right; lia]).
  destruct Li as [_ [_ [_ [_ [_ [_ [_ [_ Sa]]]]]]]]. destruct (Sa h s D) as [-> _]; auto. Qed.
(* what the liar runs of its new tasks is no more than it claims to run *)
Lemma claimed : z <= Rmax 0 (position Q g' i - old P i) /\ exists rho, 0 <= rho /\ (∀ j < m (C P), rho * a (C P) i (t P)
  j <= a (C Q) i (t P) j) /\ z <= rho * Rmax 0 (position Q g' i - old P i).
Proof. destruct Tr as [Z0 [q [y [Qp [Y0 [Ys Yc]]]]]]. pose proof Li as [Et [En [Em [Ek [Ec [Ew [Es [El Sa]]]]]]]].
  destruct Qp as [Q0 [Qs Qc]]. destruct Chq as [[[B _] _] _]. unfold users in *. specialize (B i ltac:(lia)).
  destruct (Es i) as [Esi Epi]. assert (Sq : (Σ k < K (C P), q i (t P) k) = Rmax 0 (position Q g' i - old P i)).
  { rewrite <- Ek, (Qs i (t P)) by lia. unfold part. rewrite (lies_submitted P Q i i (t P) Li) by auto. fold (old P i).
    rewrite Esi. rewrite Et in B. pose proof (size_ge0 (C Q) (proj1 Prq) i (t P)) as H. unfold submitted at 1 in B.
    simpl in B. change (sum (t P) (fun r => size (C Q) i r)) with (submitted (C Q) i (t P)) in B.
    rewrite (lies_submitted P Q i i (t P) Li) in B by auto. fold (old P i) in B. clear - B H St. minmax. }
  rewrite <- Sq. pose proof (proj1 Pr) as M; pose proof (proj1 Prq) as Mq. split.
  - rewrite <- Ys; apply sum_le; intros k Kk. destruct (dominant (C P) M i (t P)) as [j [J D]].
    specialize (Yc k j Kk J). rewrite D in Yc. pose proof (need_le (C Q) Mq i (t P) j). rewrite Ew in *.
    pose proof (weight_gt0 (C P) M i). specialize (Q0 i (t P) k). nra.
  - destruct (dominant (C P) M i (t P)) as [j1 [J1 _]]. destruct (least (m (C P)) (fun _ => True) (fun j => a (C Q)
    i (t P) j / a (C P) i (t P) j)) as [j [J [_ Mn]]]; [auto|exists j1; auto|].
    exists (a (C Q) i (t P) j / a (C P) i (t P) j). pose proof (Po i (t P) j I J) as Aj.
    pose proof (Poq i (t P) j ltac:(lia) ltac:(lia)) as Aq. split; [|split].
    + apply Rlt_le, Rdiv_lt_0_compat; auto.
    + intros l L. specialize (Mn l L Logic.I). simpl in Mn. pose proof (Po i (t P) l I L) as Al.
      apply Rmult_le_compat_r with (r := a (C P) i (t P) l) in Mn; [|lra].
      replace (a (C Q) i (t P) l / a (C P) i (t P) l * a (C P) i (t P) l) with (a (C Q) i (t P) l) in Mn by (field;
      lra). exact Mn.
    + rewrite <- Ys, Rmult_comm, <- sum_mul. apply sum_le; intros k Kk. specialize (Yc k j Kk J).
      apply Rmult_le_reg_r with (a (C P) i (t P) j); auto. replace (q i (t P) k * (a (C Q) i (t P) j / a (C P) i (t P)
      j) * a (C P) i (t P) j) with (q i (t P) k * a (C Q) i (t P) j) by (field; lra). exact Yc. Qed.
Lemma reached_le : reached P Q i g' z <= position Q g' i.
Proof. unfold reached. destruct claimed as [Z _]. minmax. Qed.
(* The steps (b) to (d): if a gain leaves the liar above its claimed lower limit, there is none. *)
Lemma no_gain : (position P g i < reached P Q i g' z -> lower Q i < g' i) -> reached P Q i g' z <= position P g i.
Proof. intros Above. suppose G. specialize (Above G). pose proof Li as [Et [En [Em [Ek [Ec [Ew [Es [El Sa]]]]]]]].
  unfold users in *. destruct (Es i) as [Esi Epi]. pose proof reached_le as Re.
  assert (Gi : g i < g' i) by (unfold position in *; rewrite Esi, Epi in *; lra).
  assert (End : submitted (C P) i (S (t P)) = old P i + size (C P) i (t P)) by reflexivity.
  assert (U : reached P Q i g' z <= submitted (C P) i (S (t P))).
  { rewrite End. unfold reached. destruct Tr as [Z0 _]. pose proof (Rmin_r (position Q g' i) (old P i)). lra. }
  destruct (one_level P g Pr Po Ch) as [L [E _]], (one_level Q g' Prq Poq Chq) as [L' [E' _]]. assert (LL : L <= L').
  { pose proof (E i I) as Ei. pose proof (E' i ltac:(unfold users; lia)) as Ei'.
    assert (Ui : g i < upper P i) by (unfold upper, position in *; lra).
    assert (L <= g i) by (revert Ei Ui; clear; unfold level; minmax).
    assert (g' i <= L') by (revert Ei' Above; clear; unfold level; minmax). lra. }
  assert (others : ∀ h < n (C P), h <> i -> g h <= g' h).
  { intros h H N. rewrite (E h H), (E' h) by (unfold users; lia). unfold level, upper. destruct (Es h) as [-> ->].
    rewrite (El h N), Et. rewrite (lies_submitted P Q i h) by auto. apply Rle_min_compat_r, Rle_max_compat_r; auto. }
  set (v := fun h => if Nat.eqb h i then past P i + (reached P Q i g' z - start P i) else g' h).
  assert (Pv : forall h, position P v h = if Nat.eqb h i then reached P Q i g' z else position Q g' h).
  { intros h; unfold position, v. destruct (Es h) as [-> ->]. destruct (Nat.eqb_spec h i) as [->|]; lra. }
  assert (v i <= g i); [|unfold v in H; rewrite Nat.eqb_refl in H; unfold position in *; lra].
  apply (nothing_better P g v i); auto.
  2: { intros h H; unfold v. destruct (Nat.eqb_spec h i) as [->|N]; [unfold position in G; lra|apply others; auto]. }
  destruct Ch as [[[B _] _] _], Chq as [[[Bq _] _] _]. destruct Tr as [Z0 [q [y [[Q0 [Qs Qc]] [Y0 [Ys Yc]]]]]]. split.
  - intros h H; rewrite Pv. specialize (B h H). destruct (Nat.eqb_spec h i) as [->|N]; [lra|].
    specialize (Bq h ltac:(lia)). destruct (Es h) as [Esh _]. rewrite Esh, Et in Bq.
    rewrite (lies_submitted P Q i h) in Bq by auto. lra.
  - exists (fun h s k => if Nat.eqb h i then if Nat.eqb s (t P) then y k else q h s k else q h s k). split; [|split].
    + intros h s k; destruct (Nat.eqb h i), (Nat.eqb s (t P)); auto.
    + intros h s H Ss. rewrite Pv. destruct (Nat.eqb_spec h i) as [->|N].
      * destruct (Nat.eqb_spec s (t P)) as [->|N].
        -- rewrite Ys. unfold part, reached. fold (old P i). destruct claimed as [Zc _]. clear - Z0 Zc St. minmax.
        -- rewrite <- Ek, Qs by lia. rewrite !lie_part by (right; lia). destruct (Es i) as [-> _]. f_equal.
           assert (Os : submitted (C P) i (S s) <= old P i) by (apply submitted_mono; [apply Pr|lia]).
           pose proof (size_ge0 (C P) (proj1 Pr) i s) as S0. destruct claimed as [Zc _]. clear - Os S0 Zc Z0.
           unfold part, reached, submitted in *; simpl in Os. minmax.
      * rewrite <- Ek, Qs by lia. rewrite !lie_part by auto. destruct (Es h) as [-> _]. auto.
    + intros k j Kk J. rewrite <- Ec. apply Rle_trans with (2 := Qc k j ltac:(lia) ltac:(lia)). rewrite Et, En.
      apply sum_le; intros h H; apply sum_le; intros s Ss. destruct (Nat.eqb_spec h i) as [->|N];
      [|destruct (Sa h s (or_introl N)) as [_ ->]; lra]. destruct (Nat.eqb_spec s (t P)) as [->|N]; [apply Yc; auto|].
      destruct (Sa i s ltac:(right; lia)) as [_ ->]; lra. Qed.
End lie.

(* {thm-tv_drf-4} Part 1, where there are no old tasks, and part 2, on any machines *)
Theorem no_claim_pays P Q i g g' z x left N ran left' N' ran' : let own := fun k j => p (C P) i k * c (C P) k j in
  proper P -> proper Q -> positive (C P) -> positive (C Q) -> lies P Q i -> (i < users P)%nat -> start P i <= old P i ->
  0 <= x <= old P i -> floor_alone P own i x left N ran -> floor_alone Q own i x left' N' ran' -> chosen P g ->
  chosen Q g' -> true_tasks P Q i g' z -> reached P Q i g' z <= position P g i.
Proof. intros own Pr Prq Po Poq Li I St X Al Alq Ch Chq Tr.
  pose proof (floors_follow P Q i x left N ran left' N' ran' Pr Prq Po Poq Li I St X Al Alq) as Fl. clear Al Alq left ran.
  apply no_gain; auto. intros G.
  pose proof (reached_le P Q i g' z Pr Prq Po Poq Li I St Chq Tr) as Re.
  pose proof (allowed_limits P g i (proj1 Ch) I) as Lo. pose proof Li as [Et [En [Em [Ek [Ec [Ew [Es [El Sa]]]]]]]].
  destruct (Es i) as [Esi Epi]. destruct Fl as [[E Old]|[left [N1 [N2 [[[N0 _] Mx] [[Nq _] [EN EN']]]]]]];
  [unfold position in *; rewrite Esi, Epi in *; lra|]. destruct (claimed P Q i g' z Pr Prq Po Poq Li I St Chq Tr)
  as [_ [rho [R0 [Ra Rz]]]]. suppose Bad. assert (zN : N1 < z). { unfold reached, position in *.
  pose proof (Rmin_r (start Q i + (g' i - past Q i)) (old P i)). lra. }
  destruct Nq as [Nq0 [y [Y0 [Ys Yc]]]]. pose proof (proj1 (proj1 Tr)) as Z0. pose proof (proj2 (proj1 Tr)) as Zs.
  (* of what it could run alone of the claimed tasks, it could run rho times as much of the true ones *)
  assert (zR : z <= rho * N2).
  { apply Rle_trans with (1 := Rz). apply Rmult_le_compat_l; auto. unfold position in *. minmax. }
  assert (z <= N1); [|lra]. apply Mx. split; [auto|]. exists (fun k => scaled (rho * N2) z (y k * rho)).
  assert (P0 : forall k, 0 <= y k * rho) by (intros; apply Rmult_le_pos; auto). split; [|split].
  - intros k; apply scaled_le; auto.
  - rewrite (scaled_sum (K (C P)) (rho * N2) z (fun k => y k * rho)); auto; [apply Rmin_right; auto|].
    rewrite (sum_mul (K (C P)) (fun k => y k)), <- Ek, Ys; lra.
  - intros k j Kk J. specialize (Yc k j ltac:(lia) ltac:(lia)). rewrite Et in Yc. specialize (Ra j J).
    pose proof (scaled_le (rho * N2) z (y k * rho) Z0 (P0 k)). pose proof (Po i (t P) j I J). specialize (Y0 k).
    apply Rle_trans with (2 := Yc). rewrite <- (Rmult_comm (a (C Q) i (t P) j)).
    apply Rle_trans with (y k * rho * a (C P) i (t P) j); [apply Rmult_le_compat_r; lra|].
    rewrite Rmult_assoc, Rmult_comm. apply Rmult_le_compat_r; auto. Qed.
(* {prop-tv_drf-no-floor} *)
Theorem no_claim_pays_without_floors P Q i g g' z : proper P -> proper Q -> positive (C P) -> positive (C Q) ->
  lies P Q i -> (i < users P)%nat -> start P i <= old P i -> no_floors P Q -> chosen P g -> chosen Q g' ->
  true_tasks P Q i g' z -> reached P Q i g' z <= position P g i.
Proof. intros Pr Prq Po Poq Li I St Nf Ch Chq Tr. apply no_gain; auto. intros G.
  pose proof (reached_le P Q i g' z Pr Prq Po Poq Li I St Chq Tr) as Re. destruct Li as [_ [_ [_ [_ [_ [_ [Es _]]]]]]].
  destruct (Es i) as [Esi Epi]. destruct (Nf i) as [El ->]. pose proof (allowed_limits P g i (proj1 Ch) I).
  unfold position in *. rewrite Esi, Epi in *. lra. Qed.
(* {whole} thm-tv_drf-4 prop-tv_drf-no-floor *)
