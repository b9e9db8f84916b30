(* TV-DRF: the first period, envy, the floors, and each period by itself. *)
From proofs Require Import sums lemmas tv_drf.
From proofs Require foundations.
Local Open Scope R_scope.
(* {model} *)
(* The first period of one pool: machines have the same part of each resource, a weight is a part of the pool, and the
   lower limit is what the user could run alone. *)
Definition one_pool C := forall k j, c C k j = c C k 0%nat.
Definition weights C := ∀ i < n C, w C i = Σ k < K C, p C i k * c C k 0%nat.
Definition first P := t P = 0%nat /\ (forall i, start P i = 0 /\ past P i = 0) /\
  ∀ i < users P, alone (C P) 0 i 0 (lower P i) /\ forall z, alone (C P) 0 i 0 z -> z <= lower P i.
(* {end} *)
Lemma part_first C i x : model C -> 0 <= x <= size C i 0 -> part C i 0 x = x.
Proof. intros M X; unfold part, submitted; simpl. minmax. Qed.
Lemma alone_first C i z : model C -> one_pool C -> weights C -> (i < n C)%nat -> (alone C 0 i 0 z <->
  0 <= z <= Rmin 1 (size C i 0)).
Proof. intros M Op We I. assert (S1 : submitted C i 1 = size C i 0) by (unfold submitted; simpl; lra).
  pose proof (weight_gt0 C M i) as W. pose proof (size_ge0 C M i 0) as S0. split.
  - intros [B [q [Q0 [Qs Qc]]]]. split; [lra|]. apply Rmin_glb; [|lra]. destruct (dominant C M i 0) as [j [J D]].
    assert (z * w C i <= w C i); [|apply Rmult_le_reg_r with (w C i); lra]. specialize (Qs O (Nat.lt_0_succ 0)).
    rewrite !part_first in Qs by (auto; lra). rewrite (We i I) at 2. replace z with (Σ k < K C, q O k) by lra.
    rewrite <- sum_mul. apply sum_le; intros k Kk. specialize (Qc k j Kk J). rewrite (Op k j) in Qc. simpl in Qc.
    rewrite D in Qc. lra.
  - intros [Z0 Z1]. assert (z <= 1) by (apply Rle_trans with (1 := Z1), Rmin_l).
    assert (z <= size C i 0) by (apply Rle_trans with (1 := Z1), Rmin_r). split; [lra|].
    assert (iw : 0 < / w C i) by (apply Rinv_0_lt_compat; auto). assert (part0 : forall k, 0 <= p C i k * c C k 0) by
    (intros k; apply Rmult_le_pos; [apply owned|apply capacity]; auto).
    exists (fun _ k => p C i k * c C k 0 * (z / w C i)). split; [|split].
    + intros _ k. apply Rmult_le_pos; [auto|apply Rmult_le_pos; lra].
    + intros s Ss. assert (s = O) as -> by lia. rewrite !part_first by (auto; lra). rewrite sum_mul, <- (We i I).
      field; lra.
    + intros k j _ _. simpl. rewrite (Op k j). pose proof (need_le C M i 0 j); pose proof (need_ge0 C M i 0 j).
      assert (z / w C i * a C i 0 j <= 1); [|specialize (part0 k); nra]. apply Rmult_le_reg_r with (w C i); auto.
      replace (z / w C i * a C i 0 j * w C i) with (z * a C i 0 j) by (field; lra). nra. Qed.
(* {lem-tv_drf-1} Part 3 *)
Theorem first_period P g : proper P -> positive (C P) -> one_pool (C P) -> weights (C P) -> first P -> chosen P g ->
  (∀ i < users P, lower P i = Rmin 1 (upper P i)) /\ possible P (level P 1) /\ exists L, 1 <= L /\ (forall L',
  possible P (level P L') -> ∀ i < users P, level P L' i <= g i) /\ ∀ i < users P, g i = Rmin L (upper P i).
Proof. intros Pr Po Op We [T [S0 Al]] Ch. pose proof (proj1 Pr) as M.
  assert (U : forall i, upper P i = size (C P) i 0).
  { intros i; unfold upper; destruct (S0 i) as [-> ->]. rewrite T. unfold submitted; simpl; lra. }
  assert (Lo : ∀ i < users P, lower P i = Rmin 1 (upper P i)).
  { intros i I. destruct (Al i I) as [A B]. rewrite U. apply Rle_antisym; [apply (alone_first (C P) i); auto|].
    apply B. apply alone_first; auto. split; [apply Rmin_glb; [lra|apply size_ge0; auto]|lra]. }
  destruct (one_level P g Pr Po Ch) as [L [E Big]]. split; [auto|split].
  - apply (possible_less P g _ Pr (proj1 (proj1 Ch))). intros i I. pose proof (allowed_limits P g i (proj1 Ch) I).
    destruct Pr as [_ Low]. specialize (Low i). specialize (Lo i I). unfold level in *; minmax.
  - exists (Rmax 1 L); split; [apply Rmax_l|split; [auto|]]. intros i I; rewrite (E i I). unfold level.
    rewrite (Lo i I). minmax. Qed.
(* {lem-tv_drf-2} In the first period of one pool this holds for all users h. *)
Theorem not_ahead_at_first P g i h : proper P -> positive (C P) -> one_pool (C P) -> weights (C P) -> first P ->
  chosen P g -> (i < users P)%nat -> (h < users P)%nat -> g i < upper P i -> g h <= g i.
Proof. intros Pr Po Op We F Ch I H U. destruct (first_period P g Pr Po Op We F Ch) as [_ [_ [L [_ [_ E]]]]].
  rewrite (E i I), (E h H) in *. minmax. Qed.
(* {lem-tv_drf-3} Part 1, zeros included: in period s user i submitted its next task. *)
Theorem stopped_on_every_machine P g q i s : proper P -> chosen P g -> places (C P) (t P) (start P) (position P g) q ->
  (i < users P)%nat -> g i < upper P i -> (s <= t P)%nat -> submitted (C P) i s <= position P g i < submitted (C P) i (S
  s) -> ∀ k < K (C P), ∃ j < m (C P), 0 < a (C P) i s j /\ (Σ h < users P, Σ r < S (t P), q h r k * a (C P) h r j) = c
  (C P) k j.
Proof. intros [M _] Ch [Q0 [Qs Qc]] I U St Next k Kk. set (held := fun j => Σ h < users P, Σ r < S (t P),
  q h r k * a (C P) h r j). destruct (dec_ex (m (C P)) (fun j => 0 < a (C P) i s j /\ held j = c (C P) k j)) as [Y|N];
  [|auto|exfalso].
  { intros j; destruct (Rlt_dec 0 (a (C P) i s j)), (Req_EM_T (held j) (c (C P) k j)); [left; auto|right..]; tauto. }
  destruct (small_room (m (C P)) held (a (C P) i s) (c (C P) k)) as [e0 [E0 Ok]].
  { intros j J. split; [apply need_ge0; auto|split; [apply Qc; auto|]]. intros U'. suppose A. apply N. exists j; auto. }
  set (e := Rmin e0 (submitted (C P) i (S s)
  - position P g i)). pose proof (Rmin_l e0 (submitted (C P) i (S s) - position P g i)).
  pose proof (Rmin_r e0 (submitted (C P) i (S s) - position P g i)). assert (E : 0 < e) by (apply Rmin_glb_lt; lra).
  fold e in H, H0. set (v := fun h => if Nat.eqb h i then g h + e else g h).
  assert (Pos : forall h, position P v h = if Nat.eqb h i then position P g h + e else position P g h).
  { intros h; unfold position, v; destruct (Nat.eqb h i); lra. } assert (Step :
  forall r, part (C P) i r (position P g i + e) = part (C P) i r (position P g i) + if Nat.eqb r s then e else 0).
  { intros r. pose proof (size_ge0 (C P) M i r) as S0. assert (Room : position P g i + e <= submitted (C P) i (S s)) by
    lra. unfold part. destruct (Nat.eqb_spec r s) as [->|Nr].
    - clear - Next E Room S0. unfold submitted in *; simpl in *. minmax.
    - destruct (le_lt_dec r s) as [L|L].
      + assert (B : submitted (C P) i (S r) <= submitted (C P) i s) by (apply submitted_mono; auto; lia).
        clear - Next E B S0. unfold submitted in *; simpl in *. minmax.
      + assert (B : submitted (C P) i (S s) <= submitted (C P) i r) by (apply submitted_mono; auto; lia).
        clear - Next Room E B S0. minmax. }
  assert (v i <= g i); [|unfold v in H1; rewrite Nat.eqb_refl in H1; lra].
  apply (nothing_better P g v i); auto; [|intros h _; unfold v; destruct (Nat.eqb h i); lra].
  destruct Ch as [[[B _] _] _]. split.
  - intros h Hh; rewrite Pos; specialize (B h Hh); destruct (Nat.eqb_spec h i) as [->|]; [|auto].
    assert (submitted (C P) i (S s) <= submitted (C P) i (S (t P))) by (apply submitted_mono; auto; lia). lra.
  - exists (fun h r u => q h r u + (if Nat.eqb h i then if Nat.eqb r s then if Nat.eqb u k then e else 0 else 0 else
    0)). split; [|split].
    + intros h r u; specialize (Q0 h r u); destruct (Nat.eqb h i), (Nat.eqb r s), (Nat.eqb u k); lra.
    + intros h r Hh Hr. rewrite (sum_plus (K (C P)) (fun u => q h r u)), (Qs h r Hh Hr), Pos.
      destruct (Nat.eqb_spec h i) as [->|]; [|rewrite sum_zero by auto; lra]. rewrite Step.
      destruct (Nat.eqb r s); [rewrite (sum_only _ k (fun _ => e)) by auto|rewrite sum_zero by auto]; lra.
    + intros u j Hu J. set (d := if Nat.eqb u k then e else 0).
      apply Rle_trans with ((Σ h < n (C P), Σ r < S (t P), q h r u * a (C P) h r j) +
        Σ h < n (C P), if Nat.eqb h i then Σ r < S (t P), if Nat.eqb r s then d * a (C P) h r j else 0 else 0).
      * rewrite <- sum_plus; apply sum_le; intros h _. destruct (Nat.eqb h i); [rewrite <- sum_plus|rewrite Rplus_0_r];
        apply sum_le; intros r _; [unfold d; destruct (Nat.eqb r s), (Nat.eqb u k)|]; lra.
      * rewrite (sum_only (n (C P)) i (fun h => Σ r < S (t P), if Nat.eqb r s then d * a (C P) h r j else 0)) by auto.
        rewrite (sum_only (S (t P)) s (fun r => d * a (C P) i r j)) by lia. unfold d.
        destruct (Nat.eqb_spec u k) as [->|].
        -- apply Rle_trans with (2 := Ok j J). apply Rplus_le_compat_l, Rmult_le_compat_r; [apply need_ge0; auto|auto].
        -- specialize (Qc u j Hu J). lra. Qed.
Lemma no_envy P g y i h : proper P -> ran P g y -> (i < users P)%nat -> (h < users P)%nat ->
  (forall s j, (s <= t P)%nat -> a (C P) i s j = a (C P) i 0 j) -> g h <= g i ->
  ∃ j < m (C P), in_all P y h j / w (C P) h <= in_all P y i j / w (C P) i.
Proof. intros [M _] R I H Same G. destruct (dominant (C P) M i 0) as [j [J D]]. exists j; split; auto.
  pose proof (weight_gt0 (C P) M i); pose proof (weight_gt0 (C P) M h). destruct (R i I) as [Yi Si], (R h H) as [Yh Sh].
  assert (Ei : in_all P y i j = g i * w (C P) i).
  { rewrite <- Si, <- sum_mul. apply sum_ext; intros s Ss. rewrite (Same s j), D by lia; auto. }
  assert (Eh : in_all P y h j <= g h * w (C P) h).
  { rewrite <- Sh, <- sum_mul. apply sum_le; intros s _. apply Rmult_le_compat_l; [auto|apply need_le; auto]. }
  rewrite Ei. replace (g i * w (C P) i / w (C P) i) with (g i) by (field; lra). apply Rle_trans with (g h); auto.
  apply Rmult_le_reg_r with (w (C P) h); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
(* {thm-tv_drf-3} Part 1 *)
Theorem no_envy_at_first P g y i h : proper P -> positive (C P) -> one_pool (C P) -> weights (C P) -> first P ->
  chosen P g -> ran P g y -> (i < users P)%nat -> (h < users P)%nat -> g i < upper P i ->
  ∃ j < m (C P), in_all P y h j / w (C P) h <= in_all P y i j / w (C P) i.
Proof. intros Pr Po Op We F Ch R I H U. apply (no_envy P g y i h); auto; [|apply (not_ahead_at_first P g i h); auto].
  intros s j Ss. destruct F as [T _]. rewrite T in Ss. assert (s = O) as -> by lia; auto. Qed.
(* {thm-tv_drf-3} Part 2 *)
Theorem no_envy_of_who_is_ahead P g y i h : proper P -> positive (C P) -> chosen P g -> ran P g y ->
  (i < users P)%nat -> (h < users P)%nat -> g i < upper P i -> (forall s j, (s <= t P)%nat ->
  a (C P) i s j = a (C P) i 0 j) -> lower P h < g h -> ∃ j < m (C P), in_all P y h j / w (C P) h <= in_all P y i j / w
  (C P) i.
Proof. intros Pr Po Ch R I H U Same L. apply (no_envy P g y i h); auto. apply (not_ahead P g i h); auto. Qed.
(* ---------------------------------------------------------------------------------------------- the floor *)
(* {model} *)
(* What user i has used by the end of the period, V, if it had used V0 before, and beta >= 1: no less than it owns, O. *)
Definition by_now P (V0 : nat -> nat -> R) g i j := V0 i j + (used (C P) (t P) i j (position P g i) - used (C P) (t P) i j
  (start P i)).
Definition as_much_as_alone P V0 (O : nat -> nat -> R) g i := ∀ j < m (C P), O i j <= by_now P V0 g i j.
(* the least G with it: with no less it has beta >= 1, and with less it has not *)
Definition least_with_it P V0 O l i := past P i <= l i /\ forall g, past P i <= g i ->
  (as_much_as_alone P V0 O g i <-> l i <= g i).
(* {end} *)
Lemma used_at_most C t i j x z : model C -> x <= z -> used C t i j z <= used C t i j x + (z - x) * (Σ s < S t,
  a C i s j).
Proof. intros M L. unfold used. rewrite Rmult_comm, <- sum_mul, <- sum_plus. apply sum_le; intros s _.
  pose proof (part_step C i s x z M L). pose proof (need_ge0 C M i s j). nra. Qed.
(* {lem-tv_drf-1} Where beta >= 1 is within a user's reach it is a lower limit on its G: monotone and closed. *)
Theorem beta_is_a_lower_limit P V0 O g0 i : model (C P) -> past P i <= g0 i -> as_much_as_alone P V0 O g0 i ->
  exists l, least_with_it P V0 O (fun _ => l) i.
Proof. intros M Le R0. assert (mono : forall g g', g i <= g' i -> as_much_as_alone P V0 O g i ->
  as_much_as_alone P V0 O g' i). { intros g g' L H j J. specialize (H j J). unfold by_now in *.
  pose proof (used_mono (C P) (t P) i j (position P g i) (position P g' i) M ltac:(unfold position; lra)). lra. }
  set (low := fun x => x = past P i \/ past P i <= x /\ ~ as_much_as_alone P V0 O (fun _ => x) i).
  destruct (completeness low) as [l [Ub Lub]]; [exists (g0 i)|exists (past P i); left; auto|].
  { intros x [->|[_ N]]; [auto|]. suppose G. apply N, (mono g0); auto. simpl; lra. } exists l.
  assert (Pl : past P i <= l) by (apply Ub; left; auto). split; [exact Pl|]. intros g Pg. simpl. split; intros H.
  - apply Lub. intros x [->|[_ N]]; [auto|]. suppose G. apply N, (mono g); auto. simpl; lra.
  - apply (mono (fun _ => l)); [exact H|]. intros j J. suppose Short. set (A := Σ s < S (t P), a (C P) i s j).
    assert (A0 : 0 <= A) by (apply sum_ge0; intros; apply need_ge0; auto).
    set (e := (O i j - by_now P V0 (fun _ => l) i j) / (A + 1)). assert (E : 0 < e) by (apply Rdiv_lt_0_compat; lra).
    assert (Ee : e * (A + 1) = O i j - by_now P V0 (fun _ => l) i j) by (unfold e; field; lra).
    assert (l + e <= l); [|lra]. apply Ub; right. split; [lra|]. intros Y. specialize (Y j J). unfold by_now in *.
    pose proof (used_at_most (C P) (t P) i j (position P (fun _ => l) i) (position P (fun _ => l + e) i) M
      ltac:(unfold position; lra)) as U. fold A in U. unfold position in *. nra. Qed.
(* {lem-tv_drf-1} {thm-tv_drf-2} With the lower limits of beta >= 1 what the period allows is what fits and has it, and it
   is within reach exactly if the lower limits fit together. *)
Theorem what_the_rule_allows P V0 O : proper P -> (∀ i < users P, least_with_it P V0 O (lower P) i) ->
  (forall g, allowed P g <-> possible P g /\ ∀ i < users P, as_much_as_alone P V0 O g i) /\
  ((exists g, possible P g /\ ∀ i < users P, as_much_as_alone P V0 O g i) <-> possible P (lower P)).
Proof. intros Pr F. assert (at_ : forall g i, possible P g -> (i < users P)%nat -> past P i <= g i) by (intros g i [B _]
  I; specialize (B i I); unfold position in B; lra). assert (E : forall g, allowed P g <-> possible P g /\
  ∀ i < users P, as_much_as_alone P V0 O g i).
  { intros g; split; intros [Po L]; (split; [auto|]); intros i I; apply (F i I); auto; apply at_; auto. }
  split; [exact E|split].
  - intros [g G]. apply E in G as [Po L]. apply (possible_less P g); auto. intros i I. split; [apply (F i I)|auto].
  - intros Po. exists (lower P). apply E. split; [auto|intros; lra]. Qed.
(* {lem-tv_drf-1} In the first period the lower limit, beta >= 1, is what the user could run alone. *)
Theorem floor_of_the_first P z l i : model (C P) -> t P = 0%nat -> start P i = 0 /\ past P i = 0 -> 0 <= z -> z <=
  submitted (C P) i 1 -> least_with_it P (fun _ _ => 0) (fun i j => used (C P) 0 i j z) l i -> l i = z.
Proof. intros M T [S0 P0] Z0 Z1 [Pl L]. rewrite P0 in *. unfold as_much_as_alone, by_now, position in L. rewrite T, S0,
  P0 in L. assert (zero : forall j, used (C P) 0 i j 0 = 0) by (intros j; unfold used, part, submitted; simpl;
  pose proof (size_ge0 (C P) M i 0); rewrite Rmin_right, Rmax_left by lra; lra).
  apply Rle_antisym; [apply (L (fun _ => z)); auto; intros j _; rewrite zero;
  replace (0 + (z - 0)) with z by ring; lra|].
  suppose Less. destruct (used_more (C P) 0 i (l i) z M (conj Pl Less) Z1) as [[j [J More]] _].
  pose proof (proj2 (L l Pl) (Rle_refl _) j J) as A. replace (0 + (l i - 0)) with (l i) in A by ring. rewrite zero in A.
  lra. Qed.
(* ---------------------------------------------------------------------------------------------- without memory *)
(* {model} *)
(* Each period as if it were the first: its levels in one pool are those of a pool of Foundations with the bounds size i
   t. *)
Definition as_pool C t := foundations.Pool (n C) (m C) (fun i j => a C i t j) (w C) (fun i => Some (size C i t)).
Definition drf C t y := foundations.feasible (as_pool C t) y /\ foundations.certified (as_pool C t) y.
(* what fits, and leaves everybody what it could run alone, min(1, size): the constraint *)
Definition with_constraint C t y := foundations.feasible (as_pool C t) y /\ ∀ i < n C, Rmin 1 (size C i t) <= y i.
Definition memoryless C t y := with_constraint C t y /\ lexicographically_max_min (n C) (with_constraint C t) y.
(* {end} *)
Lemma as_pool_model C t : model C -> foundations.model (as_pool C t).
Proof. intros M; split; simpl; intros.
  - apply Rlt_le, weight_gt0; auto.
  - pose proof (weight_gt0 C M i); lra.
  - apply need_ge0; auto.
  - apply need_le; auto.
  - apply (dominant C M i t).
  - apply size_ge0; auto. Qed.
Lemma drf_alone C t y i : model C -> (Σ h < n C, w C h) <= 1 -> drf C t y -> (i < n C)%nat ->
  Rmin 1 (size C i t) <= y i.
Proof. intros M W [F Ce] I. apply (foundations.sharing_incentive (as_pool C t) y i); auto; [apply as_pool_model;
  auto|simpl; apply Rmin_r|]. simpl. assert (Rmin 1 (size C i t) <= 1) by apply Rmin_l.
  assert (0 <= Rmin 1 (size C i t)) by (apply Rmin_glb; [lra|apply size_ge0; auto]).
  assert (0 <= Σ h < n C, w C h) by (apply sum_ge0; intros; apply Rlt_le, weight_gt0; auto). nra. Qed.
(* {prop-tv_drf-memoryless} Part 1: the constraint never binds, and the allocation chosen is weighted DRF. *)
Theorem each_period_is_drf C t y : model C -> (Σ h < n C, w C h) <= 1 -> memoryless C t y ->
  exists z, drf C t z /\ ∀ i < n C, y i = z i.
Proof. intros M W [Al Ch]. pose proof (as_pool_model C t M) as PM.
  destruct (foundations.filling (as_pool C t) PM) as [z Z]. exists z; split; [auto|].
  pose proof (foundations.certified_fair _ z PM (proj2 Z)) as Fa.
  assert (Az : with_constraint C t z) by (split; [apply Z|intros; apply drf_alone; auto]).
  assert (Mz : max_min (n C) (with_constraint C t) z) by (intros y' [F' _]; apply Fa; auto). intros i I; symmetry.
  apply (only_one (n C) (with_constraint C t)); auto. Qed.
(* {prop-tv_drf-memoryless} Part 2: in every period a user runs at least as many tasks as alone, so no less is used
   than owned. *)
Theorem no_less_without_memory C (y : nat -> nat -> R) T i : model C -> (Σ h < n C, w C h) <= 1 ->
  (forall t, drf C t (y t)) -> (i < n C)%nat -> (forall t, Rmin 1 (size C i t) <= y t i) /\
  forall j, (Σ t < T, Rmin 1 (size C i t) * a C i t j) <= Σ t < T, y t i * a C i t j.
Proof. intros M W Y I. assert (H : forall t, Rmin 1 (size C i t) <= y t i) by (intros; apply drf_alone; auto).
  split; [auto|]. intros j; apply sum_le; intros t _. apply Rmult_le_compat_r; [apply need_ge0; auto|auto]. Qed.
(* {prop-tv_drf-memoryless} Part 3: Pareto optimality *)
Theorem efficient_without_memory C t y x i : model C -> drf C t y -> foundations.feasible (as_pool C t) x ->
  (∀ h < n C, y h <= x h) -> (i < n C)%nat -> x i <= y i.
Proof. intros M [F Ce] [X0 [Xb Xu]] Le I. apply (foundations.pareto_optimality (as_pool C t) y (as_pool_model C t M)
  F Ce (fun h j => a C h t j * x h) x); auto. split; [auto|]. intros h H; split; [apply Xb; auto|intros j _; simpl;
  lra]. Qed.
(* {prop-tv_drf-memoryless} Part 3: compared with any other user, an unfinished user has no less of some resource per
   unit of weight. *)
Theorem no_envy_without_memory C t y i h : model C -> positive C -> drf C t y -> (i < n C)%nat -> (h < n C)%nat ->
  y i < size C i t -> ∃ j < m C, a C h t j * y h / w C h <= a C i t j * y i / w C i.
Proof. intros M Po [F Ce] I H U. destruct (Ce i I) as [E|[k [Kk [_ [_ B]]]]]; [simpl in E; injection E as E; lra|].
  assert (Le : y h <= y i) by (apply B; auto; apply Po; auto). destruct (dominant C M i t) as [j [J D]].
  exists j; split; [auto|]. rewrite D. pose proof (weight_gt0 C M i); pose proof (weight_gt0 C M h).
  pose proof (need_le C M h t j); pose proof (need_ge0 C M h t j). assert (0 <= y h) by (apply F; auto).
  replace (w C i * y i / w C i) with (y i) by (field; lra). apply Rle_trans with (2 := Le).
  apply Rmult_le_reg_r with (w C h); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. nra. Qed.
(* {prop-tv_drf-memoryless} Part 4: Q differs from C only in what user i claims, in any periods. The true levels z are
   no higher in any period. *)
Theorem no_lie_without_memory C Q t y y' i z : model C -> model Q -> n Q = n C -> m Q = m C ->
  (forall h, w Q h = w C h) -> (forall h s, h <> i -> size Q h s = size C h s /\ forall j, a Q h s j = a C h s j) ->
  drf C t y -> drf Q t y' -> (i < n C)%nat -> z <= size C i t -> (∀ j < m C, a C i t j * z <= a Q i t j * y' i) ->
  z <= y i.
Proof. intros M Mq en em ew ot [F Ce] [F' Ce'] I B Rm. apply (foundations.strategy_proofness (as_pool C t)
  (as_pool Q t) i y y' z); auto; try (apply as_pool_model; auto). intros h N; simpl.
  destruct (ot h t N) as [-> A]; auto. Qed.
(* {whole} thm-tv_drf-2 thm-tv_drf-3 lem-tv_drf-1 lem-tv_drf-2 prop-tv_drf-memoryless *)
