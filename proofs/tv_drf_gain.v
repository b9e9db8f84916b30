(* TV-DRF: what a lie can gain over two periods. *)
From proofs Require Import sums lemmas tv_drf tv_drf_fair.
Local Open Scope R_scope.
(* {model} *)
(* At the end of period t user i is at position Z t i in what it submits. In the next period it starts there if tasks
   wait, and behind all old tasks if they expire. Its G and what it has used before period t: *)
Definition from C (wait : bool) (Z : nat -> nat -> R) t i :=
  if wait then match t with O => 0 | S s => Z s i end else submitted C i t.
Definition before C wait Z t i := Σ s < t, (Z s i - from C wait Z s i).
Definition used_before C wait Z t i j := Σ s < t, (used C s i j (Z s i) - used C s i j (from C wait Z s i)).
(* Alone users come to A: in each period as far as they can. *)
Definition come_alone C wait A := forall t i, (t < 2)%nat -> (i < n C)%nat ->
  alone C t i (from C wait A t i) (A t i) /\ forall z, alone C t i (from C wait A t i) z -> z <= A t i.
(* Two periods of TV-DRF, with the constraint beta >= 1 or without it *)
Definition limits P (constraint : bool) V0 O := ∀ i < users P, if constraint then least_with_it P V0 O (lower P) i
  else lower P i = past P i.
Definition run C wait constraint A Z := ∀ t < 2, exists low,
  let P := Period C t (from C wait Z t) (before C wait Z t) low in
  limits P constraint (used_before C wait Z t) (used_before C wait A (S t)) /\ chosen P (before C wait Z (S t)).
(* Two users own one pool. Each task that user 0 submits in period s adds task s to its level. *)
Definition two_users C (task : nat -> R) := model C /\ positive C /\ one_pool C /\ weights C /\ n C = 2%nat /\
  ∀ s < 2, 0 < task s /\ ∀ i < 2, 0 < size C i s.
(* User 0 claims to have x in period 0. *)
Definition claims C x := Course (n C) (m C) (K C) (c C) (p C) (w C)
  (fun i s => match i, s with O, O => x | _, _ => size C i s end) (a C).
(* With what it gets for its claims it can come to x in its true tasks; it comes to X, in order, as far as it can. *)
Definition can C Q wait Z X t x := from C wait X t 0%nat <= x <= submitted C 0 (S t) /\ ∀ j < m C, used C t 0 j x -
  used C t 0 j (from C wait X t 0%nat) <= used Q t 0 j (Z t 0%nat) - used Q t 0 j (from Q wait Z t 0%nat).
Definition in_order C Q wait Z X := ∀ t < 2, can C Q wait Z X t (X t 0%nat) /\ forall x, can C Q wait Z X t x ->
  x <= X t 0%nat.
(* how many tasks user 0 runs *)
Definition tasks C wait task (X : nat -> nat -> R) := Σ s < 2, (Σ t < 2, (part C 0 s (X t 0%nat) -
  part C 0 s (from C wait X t 0%nat))) / task s.
(* {end} *)
Lemma used_from C t i j x z : used C t i j z - used C t i j x = Σ s < S t, (part C i s z - part C i s x) * a C i s j.
Proof. unfold used. induction (S t) as [|k IH]; simpl; lra. Qed.
(* what one machine has room for *)
Lemma fits_1 C t X Z : model C -> K C = 1%nat -> (fits C t X Z <-> (∀ i < n C, 0 <= X i <= Z i /\
  Z i <= submitted C i (S t)) /\ ∀ j < m C, (Σ i < n C, (used C t i j (Z i) - used C t i j (X i))) <= c C 0 j).
Proof. intros M K1. split; intros [B F]; (split; [exact B|]).
  - intros j J. destruct F as [q [_ [Qs Qc]]]. apply Rle_trans with (2 := Qc O j ltac:(lia) J). apply Req_le, sum_ext.
    intros i I. rewrite used_from. apply sum_ext; intros s Hs. rewrite <- Qs, K1 by auto. simpl. ring.
  - exists (fun i s k => Rmax 0 (part C i s (Z i) - part C i s (X i))). split; [intros; apply Rmax_l|split].
    + intros i s I _. rewrite K1. simpl. rewrite Rmax_right; [ring|]. apply part_step; auto. apply (B i I).
    + intros k j Kk J. assert (k = O) as -> by lia. apply Rle_trans with (2 := F j J). apply Req_le, sum_ext.
      intros i I. rewrite used_from. apply sum_ext; intros s Hs. rewrite Rmax_right; [auto|]. apply part_step; auto.
      apply (B i I). Qed.
Lemma furthest C t i x z (room : nat -> R) : model C -> positive C -> (i < n C)%nat -> 0 <= x <= z ->
  (∃ j < m C, room j <= used C t i j z - used C t i j x) \/ submitted C i (S t) <= z -> forall y,
  y <= submitted C i (S t) -> (∀ j < m C, used C t i j y - used C t i j x <= room j) -> y <= z.
Proof. intros M Po I X [[j [J F]]|F] y Y R; [|lra]. suppose G. specialize (R j J).
  destruct (used_more C t i z y M ltac:(lra) Y) as [_ Up]. specialize (Up Po I j J). lra. Qed.
Lemma alone_1 C t i x z : model C -> positive C -> K C = 1%nat -> (i < n C)%nat -> let own j := p C i 0 * c C 0 j in
  0 <= x <= z -> z <= submitted C i (S t) -> (∀ j < m C, used C t i j z - used C t i j x <= own j) ->
  (∃ j < m C, own j <= used C t i j z - used C t i j x) \/ submitted C i (S t) <= z ->
  alone C t i x z /\ forall y, alone C t i x y -> y <= z.
Proof. intros M Po K1 I own X Z F E. split.
  - split; [auto|]. exists (fun s k => Rmax 0 (part C i s z - part C i s x)). assert (R : forall s, Rmax 0 (part C i s z
    - part C i s x) = part C i s z - part C i s x) by (intros s; apply Rmax_right, part_step; auto; lra).
    split; [intros; apply Rmax_l|split].
    + intros s _. rewrite K1. simpl. rewrite R. ring.
    + intros k j Kk J. assert (k = O) as -> by lia. apply Rle_trans with (2 := F j J). rewrite used_from.
      apply Req_le, sum_ext; intros s _. rewrite R; auto.
  - intros y [[Y Ys] [q [Q0 [Qs Qc]]]]. apply (furthest C t i x z own M Po I X E y Ys). intros j J. rewrite used_from.
    apply Rle_trans with (2 := Qc O j ltac:(lia) J). apply Req_le, sum_ext; intros s Hs. rewrite <- Qs, K1 by auto.
    simpl; ring. Qed.
(* What the rule chooses on one machine: y fits, and has beta >= 1 under the constraint; a resource is used up, or all
   are served; nobody is ahead of an unfinished user, but by its lower limit. *)
Definition good C t X (past : nat -> R) V0 O (y : nat -> R) (constraint : bool) := let g i := past i + (y i - X i) in
  let V i j := V0 i j + (used C t i j (y i) - used C t i j (X i)) in
  (∀ i < n C, 0 <= X i <= y i /\ y i <= submitted C i (S t) /\ (constraint = true -> ∀ j < m C, O i j <= V i j)) /\
  (∀ j < m C, (Σ i < n C, (used C t i j (y i) - used C t i j (X i))) <= c C 0 j) /\
  ((∃ j < m C, (Σ i < n C, (used C t i j (y i) - used C t i j (X i))) = c C 0 j) \/
   ∀ i < n C, submitted C i (S t) <= y i) /\
  ∀ i < n C, y i < submitted C i (S t) -> ∀ h < n C, g h <= g i \/ constraint = true /\ ∃ j < m C, V h j <= O h j.
Section decided.
Variables (C : course) (t : nat) (X past : nat -> R) (V0 O : nat -> nat -> R) (y : nat -> R) (constraint : bool).
Hypotheses (M : model C) (Po : positive C) (K1 : K C = 1%nat) (Go : good C t X past V0 O y constraint).
Lemma reach : exists low, limits (Period C t X past low) constraint V0 O.
Proof. destruct constraint; [|exists past; intros i I; auto]. destruct (choose (n C) (fun i l => least_with_it (Period C
  t X past past) V0 O (fun _ => l) i) 0) as [low L]; [|exists low; exact L]. intros i I. destruct Go as [B _].
  destruct (B i I) as [X0 [_ R]]. apply beta_is_a_lower_limit with (fun i => past i + (y i - X i)); simpl; auto; [lra|].
  intros j J. specialize (R eq_refl j J). unfold by_now, position; simpl. replace (X i + (past i + (y i - X i) -
  past i)) with (y i) by ring. exact R. Qed.
Lemma decided low g : let P := Period C t X past low in limits P constraint V0 O ->
  (chosen P g <-> ∀ i < n C, g i = past i + (y i - X i)).
Proof. intros P L. destruct Go as [B [F [U Or]]]. assert (key : forall g, (∀ i < n C, g i = past i + (y i - X i)) ->
  chosen P g /\ max_min (n C) (allowed P) g).
  { clear g. intros g E. assert (Ey : ∀ i < n C, position P g i = y i) by (intros i I; unfold position; simpl;
    rewrite E by auto; ring).
    assert (by_ : forall i j, (i < n C)%nat -> by_now P V0 g i j = V0 i j + (used C t i j (y i) - used C t i j (X i)))
      by (intros i j I; unfold by_now; rewrite Ey by auto; auto).
    assert (Lo : ∀ i < n C, low i <= g i /\ past i <= low i). { intros i I. specialize (L i I). destruct (B i I) as [X0
      [_ R]]. destruct constraint; [|simpl in L; rewrite E, L by auto; lra]. destruct L as [Pl L]. split; [|exact Pl].
      apply L; [simpl; rewrite E by auto; lra|]. intros j J. rewrite by_ by auto. apply R; auto. }
    assert (Al : allowed P g). { split; [|intros; apply Lo; auto]. apply (fits_1 C t X (position P g) M K1). split.
      - intros i I. rewrite Ey by auto. specialize (B i I). lra.
      - intros j J. rewrite (sum_ext _ _ (fun i => used C t i j (y i) - used C t i j (X i))) by (intros; rewrite Ey;
        auto). auto. }
    assert (Mm : max_min (n C) (allowed P) g); [|split; [split; [exact Al|apply max_min_is_leximin; auto]|exact Mm]].
    intros g' [Fi Lo'] i I G. apply (fits_1 C t X (position P g') M K1) in Fi as [B' F'].
    assert (Gi : y i < position P g' i) by (rewrite <- Ey by auto; unfold position; lra). pose proof (B' i I) as Bi.
    destruct (some_or_none (n C) g' g) as [[h [H Less]]|No].
    - exists h. split; [auto|split; [auto|]]. destruct (Or i I ltac:(lra) h H) as [Le|[Ct [j [J Tight]]]];
      [rewrite !E by auto; auto|exfalso]. specialize (L h H). rewrite Ct in L. destruct L as [Pl L]. specialize (Lo' h
      H). simpl in *. assert (Le : low h <= g' h) by auto. apply L in Le; [|lra]. specialize (Le j J). unfold by_now in
      Le. destruct (used_more C t h (position P g' h) (y h) M) as [_ Up]; [specialize (B' h H); rewrite <- Ey by auto;
      unfold position in *; lra|apply (B h H)|]. specialize (Up Po H j J). simpl in *. lra.
    - destruct U as [[j [J Full]]|Fin]; [|specialize (Fin i I); lra]. specialize (F' j J). rewrite <- Full in F'.
      exfalso. revert F'. apply Rlt_not_le, sum_lt with i; auto.
      + intros h H. apply Rplus_le_compat_r, used_mono; auto. rewrite <- Ey by auto. specialize (No h H).
        unfold position. lra.
      + apply Rplus_lt_compat_r. destruct (B i I). destruct (used_more C t i (y i) (position P g' i) M) as [_ Up];
        [lra|lra|apply Up; auto]. }
  split; [|apply key]. intros Ch i I. destruct (key (fun i => past i + (y i - X i)) (fun _ _ => eq_refl)) as [Cy My].
  symmetry. apply (only_one (n C) (allowed P) (fun i => past i + (y i - X i))); auto; [apply Cy|apply Ch|apply Ch]. Qed.
End decided.
Lemma two_periods C wait constraint A z : model C -> positive C -> K C = 1%nat -> n C = 2%nat -> (forall Z t, (t <
  2)%nat -> (forall s i, (s < t)%nat -> (i < n C)%nat -> Z s i = z s i) -> good C t (from C wait Z t) (before C wait Z
  t) (used_before C wait Z t) (used_before C wait A (S t)) (z t) constraint) -> (exists Z, run C wait constraint A Z) /\
  forall Z, run C wait constraint A Z -> Z 0%nat 0%nat = z 0%nat 0%nat /\ Z 1%nat 0%nat = z 1%nat 0%nat.
Proof. intros M Po K1 n2 G. split.
  - exists z. intros t T. assert (Gt := G z t T (fun _ _ _ _ => eq_refl)). destruct (reach C t _ _ _ _ _ _ M Gt) as
    [low L]. exists low. split; [exact L|]. apply (decided C t _ _ _ _ _ _ M Po K1 Gt low _ L). intros; reflexivity.
  - intros Z R. enough (H : forall t i, (t < 2)%nat -> (i < n C)%nat -> Z t i = z t i) by (split; apply H; lia).
    induction t as [t IH] using lt_wf_ind. intros i T I. destruct (R t T) as [low [L Ch]].
    assert (Gt := G Z t T ltac:(intros; apply IH; auto; lia)). pose proof (proj1 (decided C t _ _ _ _ _ _ M Po K1 Gt low
    _ L) Ch i I) as E. unfold before in E; simpl in E. lra. Qed.
Definition expiring eps := Course 2 1 1 (fun _ _ => 1) (fun _ _ => 1/2) (fun _ => 1/2) (fun i s => match i, s with
  O, O => 2 | O, _ => 1 | _, O => 2 * eps | _, _ => 2 end) (fun _ _ _ => 1/2).
Definition waiting := Course 2 2 1 (fun _ _ => 1) (fun _ _ => 1/2) (fun _ => 1/2) (fun i s => match i, s with
  O, O => 11/5 | O, _ => 4 | _, O => 4/3 | _, _ => 4 end) (fun i s j => match i, s, j with O, _, O => 1/2 |
  O, _, _ => 1/3 | _, S _, O => 1/6 | _, _, _ => 1/2 end).
Definition at_ (a b c d : R) (t i : nat) := match t, i with O, O => a | O, _ => b | _, O => c | _, _ => d end.
Ltac num := unfold used_before, before, from, used, part, submitted; simpl; repeat match goal with
  | H : ?x = _ |- context [?x] => rewrite H
  | |- context [Rmin ?a ?b] => first [rewrite (Rmin_left a b) by lra|rewrite (Rmin_right a b) by lra]
  | |- context [Rmax ?a ?b] => first [rewrite (Rmax_left a b) by lra|rewrite (Rmax_right a b) by lra] end; lra.
Ltac each i I := destruct i as [|[|i]]; try (simpl in I; lia).
Ltac some_j := first [exists O; split; [simpl; lia|num]|exists 1%nat; split; [simpl; lia|num]].
Ltac is_good := intros Z t T E; each t T; [|pose proof (E O O ltac:(lia) ltac:(simpl; lia)) as E0; pose proof (E O 1%nat
  ltac:(lia) ltac:(simpl; lia)) as E1; simpl in E0, E1]; clear E; (split; [intros i I; each i I; (split; [split;
  num|split; [num|intros Co j J; first [discriminate Co|each j J; num]]])|split; [intros j J; each j J; num|split;
  [first [left; some_j|right; intros i I; each i I; num]|intros i I Un h H; each i I; each h H; first [left; num|right;
  split; [reflexivity|some_j]|exfalso; apply (Rlt_not_le _ _ Un); num]]]]).
Ltac is_alone := intros t i T I; each t T; each i I; (apply alone_1; [auto|auto|reflexivity|auto|split; num|num|
  intros j J; each j J; num|first [left; some_j|right; num]]).
Lemma claims_model C x : model C -> 0 <= x -> model (claims C x).
Proof. intros M X. split; try apply M. simpl. intros [|i] [|s]; auto; apply M. Qed.
Lemma comes C Q wait Z X t : let room j := used Q t 0 j (Z t 0%nat) - used Q t 0 j (from Q wait Z t 0%nat) in model C ->
  positive C -> (0 < n C)%nat -> 0 <= from C wait X t 0%nat -> can C Q wait Z X t (X t 0%nat) -> (∃ j < m C, room j <=
  used C t 0 j (X t 0%nat) - used C t 0 j (from C wait X t 0%nat)) \/ submitted C 0 (S t) <= X t 0%nat ->
  can C Q wait Z X t (X t 0%nat) /\ forall x, can C Q wait Z X t x -> x <= X t 0%nat.
Proof. intros room M Po I X0 Ca E. split; [exact Ca|]. intros x [Lx R]. apply (furthest C t 0 (from C wait X t 0%nat)
  (X t 0%nat) room); auto; [|apply Lx]. split; [auto|apply Ca]. Qed.
Ltac is_in_order := intros t T; each t T; (apply comes; [auto|auto|simpl; lia|num|split; [split; num|intros j J; each j
  J; num]|first [left; some_j|right; num]]).
(* {prop-tv_drf-unbounded} *)
Theorem no_factor_bounds_the_gain eps wait : 0 < eps <= 1/4 -> exists C x task A A', two_users C task /\
  0 < x < size C 0 0 /\ come_alone C wait A /\ come_alone (claims C x) wait A' /\ forall constraint,
  ((exists Z, run C wait constraint A Z) /\ forall Z, run C wait constraint A Z -> tasks C wait task Z < 2) /\
  (exists Z, run (claims C x) wait constraint A' Z) /\ forall Z, run (claims C x) wait constraint A' Z ->
  exists X, in_order C (claims C x) wait Z X /\ 1 / (30 * eps) < tasks C wait task X.
Proof. intros Ep. assert (In : 0 < / eps) by (apply Rinv_0_lt_compat; lra).
  set (task := fun s => match s with O => 2 | _ => 2 * eps end).
  assert (gain : forall v, v / (2 * eps) = v / 2 * / eps) by (intros; field; lra).
  assert (Gain : 1 / (30 * eps) = / eps / 30) by (field; lra). rewrite Gain; clear Gain.
  assert (count : forall C wait X v u, (Σ t < 2, (part C 0 0 (X t 0%nat) - part C 0 0 (from C wait X t 0%nat))) = v ->
    (Σ t < 2, (part C 0 1 (X t 0%nat) - part C 0 1 (from C wait X t 0%nat))) = u -> tasks C wait task X = v / 2 + u / 2
    * / eps) by (intros C wait' X v u V U; unfold tasks; simpl in *; rewrite V, U, gain; lra).
  destruct wait.
  - assert (M : model waiting). { split; simpl; intros; try lra; try (destruct i, s, j; lra); [destruct i, s; lra|].
    destruct i as [|i], s as [|s]; first [exists O; split; [lia|lra]|exists 1%nat; split; [lia|lra]]. }
    assert (Po : positive waiting) by (intros i s j _ _; simpl; destruct i, s, j; lra).
    pose proof (claims_model waiting (2/3) M ltac:(lra)) as Mq. assert (Poq : positive (claims waiting (2/3))) by exact
    Po. exists waiting, (2/3), task, (at_ 1 1 2 2), (at_ (2/3) 1 (5/3) 2). split; [|split; [simpl; lra|split;
    [is_alone|split; [is_alone|intros constraint; split]]]].
    + split; [auto|split; [auto|split; [intros k j; auto|split; [intros i I; simpl; lra|split; [auto|]]]]].
      intros s Hs. split; [unfold task; destruct s; lra|intros i I; each i I; each s Hs; simpl; lra].
    + destruct (two_periods waiting true constraint (at_ 1 1 2 2) (at_ 1 1 (11/5) (11/5)) M Po eq_refl eq_refl) as [Ex
      All]; [is_good|]. split; [exact Ex|]. intros Z R. destruct (All Z R) as [E E']. simpl in E, E'. rewrite (count _ _
      _ (11/5) 0); [lra|num|num].
    + destruct (two_periods (claims waiting (2/3)) true constraint (at_ (2/3) 1 (5/3) 2) (at_ (2/3) (4/3) (34/15)
      (34/15)) Mq Poq eq_refl eq_refl) as [Ex All]; [is_good|]. split; [exact Ex|]. intros Z R. destruct (All Z R) as [E
      E']. simpl in E, E'. exists (at_ (2/3) 0 (34/15) 0). split; [is_in_order|]. rewrite (count _ _ _ (11/5) (1/15));
      [lra|num|num].
  - set (C := expiring eps). assert (M : model C). { split; simpl; intros; try lra; [destruct i, s; lra|].
    exists O; split; [lia|auto]. }
    assert (Po : positive C) by (intros i s j _ _; simpl; lra).
    pose proof (claims_model C 1 M ltac:(lra)) as Mq. assert (Poq : positive (claims C 1)) by exact Po.
    exists C, 1, task, (at_ 1 (2 * eps) 3 (1 + 2 * eps)), (at_ 1 (2 * eps) 2 (1 + 2 * eps)). split; [|split; [simpl;
    lra| split; [is_alone|split; [is_alone|intros constraint; split]]]].
    + split; [auto|split; [auto|split; [intros k j; auto|split; [intros i I; simpl; lra|split; [auto|]]]]].
      intros s Hs. split; [unfold task; destruct s; lra|intros i I; each i I; each s Hs; simpl; lra].
    + destruct (two_periods C false constraint (at_ 1 (2 * eps) 3 (1 + 2 * eps)) (at_ (2 - 2 * eps) (2 * eps) (2 + 2 *
      eps) 2) M Po eq_refl eq_refl) as [Ex All]; [is_good|]. split; [exact Ex|]. intros Z R. destruct (All Z R) as [E
      E']. simpl in E, E'. rewrite (count _ _ _ (2 - 2 * eps) (2 * eps)); [|num|num]. replace (2 * eps / 2 * / eps) with
      1 by (field; lra). lra.
    + set (y := if constraint then 2 else 3/2 + eps). destruct (two_periods (claims C 1) false constraint (at_ 1 (2 *
      eps) 2 (1 + 2 * eps)) (at_ 1 (2 * eps) y (3 + 2 * eps - y)) Mq Poq eq_refl eq_refl) as [Ex All]; [unfold y;
      destruct constraint; is_good|]. split; [exact Ex|]. intros Z R. destruct (All Z R) as [E E']. simpl in E, E'.
      assert (Y : 3/2 + eps <= y <= 2) by (unfold y; destruct constraint; lra). exists (at_ 1 0 (1 + y) 0). split;
      [is_in_order|]. rewrite (count _ _ _ 1 (y - 1)); [nra|num|num]. Qed.
(* {whole} prop-tv_drf-unbounded *)
