(* DMFA-SRQ: users come one after another and leave again, and what they brought stays in the pool. *)
From proofs Require Import sums.
From proofs Require foundations.
Local Open Scope R_scope.
(* {model} *)
Record course := Course {
  n : nat; m : nat;             (* users and resources, numbered from 0 *)
  d : nat -> nat -> R;          (* what a unit of user i takes of resource j; the largest is 1 *)
  w : nat -> R;                 (* contribution *)
  came : nat -> nat;            (* number of the event with which user i comes *)
  gone : nat -> nat             (* and of that with which it leaves; of who stays, a later one than is looked at *)
}.

Record model (P : course) : Prop := {
  brings : ∀ i < n P, 0 < w P i;
  demand_ge0 : forall i j, 0 <= d P i j;
  demand_le1 : forall i j, d P i j <= 1;
  dominant : ∀ i < n P, ∃ k < m P, d P i k = 1
}.
Definition here P e i := (i < n P)%nat /\ (came P i <= e < gone P i)%nat.
Definition hereb P e i : bool := ((i <? n P) && ((came P i <=? e) && (e <? gone P i)))%nat%bool.
(* all demands of who is there after event e are positive *)
Definition positive_demands P e := forall i j, here P e i -> (j < m P)%nat -> 0 < d P i j.
Definition pool P e := Σ i < n P, if (came P i <=? e)%nat then w P i else 0.

(* Given M, the level of user i after event e is the largest M since it came; before, it is 0. *)
Fixpoint level P (M : nat -> R) e i := Rmax 0 (match e with
  | O => if (came P i <=? 0)%nat then M O else 0
  | S f => if (came P i <=? e)%nat then Rmax (M e) (level P M f i) else 0 end).
Definition before P M e i := match e with O => 0 | S f => level P M f i end.
Definition units P M e i := w P i * level P M e i.

(* the use of resource j if the lowest level is x *)
Definition use P M e j x := Σ i < n P, if hereb P e i then w P i * d P i j * Rmax x (before P M e i) else 0.
Definition fits P M e x := ∀ j < m P, use P M e j x <= pool P e.

(* M is what the mechanism computes: at each event at which somebody is there, the largest level that fits *)
Definition largest P M e x := fits P M e x /\ forall z, fits P M e z -> z <= x.
Definition runs P M := forall e, (exists i, here P e i) -> largest P M e (M e).

(* Program (4) of the paper at event e, for a lowest level x and units u *)
Definition program P M e x (u : nat -> R) := (forall i, here P e i -> x * w P i <= u i /\
  w P i * before P M e i <= u i) /\
  ∀ j < m P, (Σ i < n P, if hereb P e i then u i * d P i j else 0) <= pool P e.

(* What a bundle is worth to i, in its units: every u that there is room for *)
Definition room P i (bundle : nat -> R) u := ∀ j < m P, d P i j * u <= bundle j.
Definition bundle P M e i j := units P M e i * d P i j.
(* Two runs that are alike up to event p. *)
Definition alike P Q p := n Q = n P /\ m Q = m P /\ ∀ e < p, pool Q e = pool P e /\
  ∀ i < n P, hereb Q e i = hereb P e i /\ ((came Q i <= e)%nat <-> (came P i <= e)%nat) /\
  (here P e i -> w Q i = w P i /\ ∀ j < m P, d Q i j = d P i j).
Definition needs P e i j := if hereb P e i then w P i * d P i j else 0.
(* The program without the second constraint, and its optimal solutions *)
Definition static_program P e x (u : nat -> R) := (forall i, here P e i -> x * w P i <= u i) /\
  ∀ j < m P, (Σ i < n P, if hereb P e i then u i * d P i j else 0) <= pool P e.
(* x is W over the largest sum of needs. *)
Definition static_formula_of P e x := (∀ j < m P, (Σ i < n P, needs P e i j) * x <= pool P e) /\
  ∃ j < m P, (Σ i < n P, needs P e i j) * x = pool P e.
Definition static_optimum P e x u := static_program P e x u /\ forall z v, static_program P e z v -> z <= x.
(* Weighted DRF on a pool of W of each resource: shares and weights are parts of W; who is not there has the weight 0.
   *)
Definition drf_pool P e := foundations.Pool (n P) (m P) (fun i j => needs P e i j / pool P e)
  (fun i => (if hereb P e i then w P i else 0) / pool P e) (fun i => if hereb P e i then None else Some 0).
(* DRF on the same pool: all who are there have the weight 1. *)
Definition unweighted_pool P e := foundations.Pool (n P) (m P) (fun i j => if hereb P e i then d P i j else 0)
  (fun i => if hereb P e i then 1 else 0) (fun i => if hereb P e i then None else Some 0).
Definition drf P y := foundations.feasible P y /\ foundations.fair P y.
(* {end} *)
Lemma hereb_here P e i : hereb P e i = true <-> here P e i.
Proof. unfold hereb, here. rewrite !Bool.andb_true_iff, Nat.leb_le, !Nat.ltb_lt. tauto. Qed.
Lemma level_ge0 P M e i : 0 <= level P M e i.
Proof. destruct e; simpl; apply Rmax_l. Qed.
Lemma before_ge0 P M e i : 0 <= before P M e i.
Proof. destruct e; simpl; [lra|apply level_ge0]. Qed.
Lemma level_before_came P M e i : (e < came P i)%nat -> level P M e i = 0.
Proof. destruct e; simpl; intros L; (destruct (came P i <=? _)%nat eqn:E; [apply Nat.leb_le in E; lia|]);
  apply Rmax_left; lra. Qed.
Lemma level_step P M e i : (came P i <= e)%nat -> level P M e i = Rmax (M e) (before P M e i).
Proof. intros L; apply Nat.leb_le in L. destruct e; cbn [level before]; rewrite L; [rewrite Rmax_comm; auto|].
  apply Rmax_right. apply Rle_trans with (level P M e i); [apply level_ge0|apply Rmax_r]. Qed.
Lemma level_lowest P M e i : (came P i <= e)%nat -> M e <= level P M e i.
Proof. intros L; rewrite level_step by auto; apply Rmax_l. Qed.
Lemma level_up P M e i : before P M e i <= level P M e i.
Proof. destruct (le_lt_dec (came P i) e) as [L|G]; [rewrite level_step by auto; apply Rmax_r|].
  destruct e; simpl before; [apply level_ge0|]. rewrite !level_before_came by lia; lra. Qed.
Lemma level_mono P M e f i : (e <= f)%nat -> level P M e i <= level P M f i.
Proof. induction 1; [lra|]. apply Rle_trans with (level P M m0 i); [auto|]. exact (level_up P M (S m0) i). Qed.
(* {cor-dmfa_srq-max} *)
Theorem level_is_largest P M e i : (came P i <= e)%nat -> (forall t, (came P i <= t <= e)%nat -> 0 < M t) ->
  (forall t, (came P i <= t <= e)%nat -> M t <= level P M e i) /\ exists t, (came P i <= t <= e)%nat /\
  level P M e i = M t.
Proof. intros C Pos; split.
  - intros t [L U]. apply Rle_trans with (level P M t i); [apply level_lowest; auto|apply level_mono; auto].
  - induction e as [|e IH].
    + exists O; split; [lia|]. rewrite level_step by auto; simpl. apply Rmax_left. specialize (Pos O ltac:(lia)); lra.
    + rewrite level_step by auto. simpl before. unfold Rmax; destruct (Rle_dec (M (S e)) (level P M e i)) as [G|];
      [|exists (S e); split; [lia|auto]]. destruct (le_lt_dec (came P i) e) as [Le|Lt].
      * destruct IH as [t [T E]]; auto; [intros; apply Pos; lia|]. exists t; split; [lia|auto].
      * rewrite level_before_came in * by auto. specialize (Pos (S e) ltac:(lia)); lra. Qed.
(* {lem-dmfa_srq-2} *)
Theorem sorted_by_arrival P M e i h : (came P i <= came P h)%nat -> level P M e h <= level P M e i.
Proof. intros C; induction e as [|e IH].
  - destruct (le_lt_dec (came P h) 0); [rewrite !level_step by lia; simpl; lra|].
    rewrite level_before_came by auto; apply level_ge0.
  - destruct (le_lt_dec (came P h) (S e)); [|rewrite level_before_came by auto; apply level_ge0].
    rewrite !level_step by lia; simpl before. minmax. Qed.
(* {lem-dmfa_srq-3} *)
Theorem nothing_gained_since P M e i h : (came P i <= e)%nat -> level P M e i < level P M e h ->
  (came P h < came P i)%nat /\ level P M e h = before P M (came P i) h.
Proof. intros C L. destruct (le_lt_dec (came P i) (came P h)) as [G|G]; [pose proof (sorted_by_arrival P M e i h G);
  lra|]. split; [auto|]. induction e as [|e IH].
  - lia.
  - rewrite (level_step P M (S e) h), (level_step P M (S e) i) in L by lia. simpl before in L.
    assert (E : level P M (S e) h = level P M e h).
    { rewrite level_step by lia; simpl before. unfold Rmax in *; destruct (Rle_dec (M (S e)) (level P M e h)); [auto|].
      destruct (Rle_dec (M (S e)) (level P M e i)); lra. }
    destruct (Nat.eq_dec (came P i) (S e)) as [->|N]; [simpl; auto|]. rewrite E; apply IH; [lia|].
    unfold Rmax in *; destruct (Rle_dec (M (S e)) (level P M e h)), (Rle_dec (M (S e)) (level P M e i)); lra. Qed.
(* ------------------------------------------------------------------------------------------- the use of a resource *)
Lemma use_needs P M e j x : use P M e j x = Σ i < n P, needs P e i j * Rmax x (before P M e i).
Proof. unfold use, needs; apply sum_ext; intros; destruct (hereb P e i); lra. Qed.
Lemma needs_ge0 P e i j : model P -> (i < n P)%nat -> 0 <= needs P e i j.
Proof. intros Mo I; unfold needs; destruct (hereb P e i); [apply Rmult_le_pos; [apply Rlt_le, brings;
  auto|apply demand_ge0; auto]|lra]. Qed.
Lemma use_mono P M e j x z : model P -> x <= z -> use P M e j x <= use P M e j z.
Proof. intros Mo L; rewrite !use_needs; apply sum_le; intros i I; apply Rmult_le_compat_l; [apply needs_ge0; auto|].
  apply Rle_max_compat_r; auto. Qed.
Lemma use_step P M e j x s : model P -> 0 <= s -> use P M e j (x + s) <= use P M e j x + s * Σ i < n P, needs P e i j.
Proof. intros Mo S; rewrite !use_needs, Rmult_comm, <- sum_mul, <- sum_plus. apply sum_le; intros i I.
  pose proof (needs_ge0 P e i j Mo I). minmax. Qed.
Lemma needs_here P e i j : here P e i -> needs P e i j = w P i * d P i j.
Proof. intros H; apply hereb_here in H; unfold needs; rewrite H; auto. Qed.
Lemma use_now P M e j : (Σ i < n P, needs P e i j * level P M e i) = use P M e j (M e).
Proof. rewrite use_needs; apply sum_ext; intros i I; unfold needs; destruct (hereb P e i) eqn:E; [|lra].
  apply hereb_here in E as [_ E]; auto. rewrite level_step by lia; auto. Qed.
(* {lem-dmfa_srq-use} At a solution of the program the use fits into the pool. *)
Theorem program_fits P M e x u : model P -> program P M e x u -> fits P M e x.
Proof. intros Mo [U F] j J; apply Rle_trans with (2 := F j J). unfold use; apply sum_le; intros i I.
  destruct (hereb P e i) eqn:E; [|lra]. apply hereb_here in E. destruct (U i E) as [U1 U2].
  pose proof (demand_ge0 P Mo i j). unfold Rmax; destruct (Rle_dec x (before P M e i)); nra. Qed.
(* {lem-dmfa_srq-use} {lem-dmfa_srq-1} Conversely, the formula solves the program. *)
Theorem fits_program P M e x : model P -> fits P M e x -> program P M e x (fun i => w P i * Rmax x (before P M e i)).
Proof. intros Mo F; split.
  - intros i [I _]. pose proof (brings P Mo i I). pose proof (Rmax_l x (before P M e i));
    pose proof (Rmax_r x (before P M e i)). nra.
  - intros j J. apply Rle_trans with (2 := F j J). apply Req_le. unfold use; apply sum_ext; intros i I.
    destruct (hereb P e i); ring. Qed.
Lemma pool_grows P e : pool P e + (Σ i < n P, if Nat.eqb (came P i) (S e) then w P i else 0) = pool P (S e).
Proof. unfold pool; rewrite <- sum_plus; apply sum_ext; intros i I.
  destruct (came P i <=? e)%nat eqn:A, (Nat.eqb (came P i) (S e)) eqn:B, (came P i <=? S e)%nat eqn:C; try lra; exfalso.
  all: try apply Nat.leb_le in A; try apply Nat.leb_gt in A; try apply Nat.eqb_eq in B; try apply Nat.eqb_neq in B;
    try apply Nat.leb_le in C; try apply Nat.leb_gt in C; lia. Qed.
Lemma one_fits P M e : model P -> (∀ f < e, (exists i, here P f i) -> largest P M f (M f)) -> fits P M e 1.
Proof. intros Mo; induction e as [|e IH]; intros R j J.
  - unfold use, pool; apply sum_le; intros i I; simpl before. rewrite Rmax_left by lra. unfold hereb.
    pose proof (brings P Mo i I); pose proof (demand_le1 P Mo i j); pose proof (demand_ge0 P Mo i j).
    destruct (i <? n P)%nat, (came P i <=? 0)%nat; simpl; [destruct (0 <? gone P i)%nat|..]; nra.
  - assert (Now : (Σ i < n P, needs P e i j * level P M e i) <= pool P e).
    { destruct (dec_ex (n P) (fun i => hereb P e i = true)) as [[i [I H]]|no]; [intros i; destruct (hereb P e i);
      auto| |].
      - rewrite use_now. apply hereb_here in H. destruct (R e (le_n _) (ex_intro _ i H)) as [F _]; apply F; auto.
      - rewrite sum_zero; [apply sum_ge0; intros i I; destruct (came P i <=? e)%nat; [apply Rlt_le, brings; auto|lra]|].
        intros i I; unfold needs; destruct (hereb P e i) eqn:H; [exfalso; apply no; exists i; auto|lra]. }
    rewrite <- (pool_grows P e). apply Rle_trans with (2 := Rplus_le_compat_r _ _ _ Now).
    rewrite <- sum_plus; unfold use; apply sum_le; intros i I. simpl before.
    pose proof (brings P Mo i I); pose proof (demand_le1 P Mo i j); pose proof (demand_ge0 P Mo i j).
    pose proof (needs_ge0 P e i j Mo I). pose proof (level_ge0 P M e i).
    destruct (hereb P (S e) i) eqn:Hb; [|destruct (Nat.eqb (came P i) (S e)); nra].
    apply hereb_here in Hb as [_ Hb]; auto. destruct (Nat.eqb (came P i) (S e)) eqn:C.
    + apply Nat.eqb_eq in C. rewrite level_before_came by lia. rewrite Rmax_left by lra. nra.
    + apply Nat.eqb_neq in C. assert (He : here P e i) by (split; [auto|lia]).
      assert (1 <= M e) by (apply (R e (le_n _) (ex_intro _ i He)), IH; auto).
      assert (1 <= level P M e i) by (apply Rle_trans with (M e); [auto|apply level_lowest; lia]).
      rewrite Rmax_right, needs_here by (auto; lra). nra. Qed.
(* {thm-dmfa_srq-2} {prop-dmfa_srq-stays} Sharing incentive: the lowest level is never below 1. *)
Theorem sharing_incentive P M : model P -> runs P M -> forall e, (exists i, here P e i) -> 1 <= M e.
Proof. intros Mo R e Sm. apply (R e Sm), one_fits; auto. Qed.
(* {lem-dmfa_srq-use} The lowest level is positive. *)
Theorem positive P M e : model P -> runs P M -> (exists i, here P e i) -> 0 < M e.
Proof. intros Mo R S; pose proof (sharing_incentive P M Mo R e S); lra. Qed.
(* {thm-dmfa_srq-2} {prop-dmfa_srq-stays} So nobody has less than it brought. *)
Theorem no_less_than_brought P M e i : model P -> runs P M -> here P e i -> w P i <= units P M e i.
Proof. intros Mo R H; pose proof (sharing_incentive P M Mo R e (ex_intro _ i H)).
  pose proof (level_lowest P M e i (proj1 (proj2 H))). pose proof (brings P Mo i (proj1 H)). unfold units; nra. Qed.
(* {lem-dmfa_srq-use} At the optimum some resource is used up that somebody at the lowest level needs. *)
Theorem binding P M e : model P -> runs P M -> (exists i, here P e i) ->
  exists j i, (j < m P)%nat /\ here P e i /\ 0 < d P i j /\ before P M e i <= M e /\ use P M e j (M e) = pool P e.
Proof. intros Mo R S. destruct (R e S) as [F L]. destruct (dec_ex (m P) (fun j => use P M e j (M e) = pool P e /\
  ∃ i < n P, 0 < needs P e i j /\ before P M e i <= M e)) as [[j [J [U [i [I [N B]]]]]]|no].
  { intros j. destruct (Req_EM_T (use P M e j (M e)) (pool P e)) as [U|]; [|right; tauto].
    destruct (dec_ex (n P) (fun i => 0 < needs P e i j /\ before P M e i <= M e)) as [Y|N]; [|left; auto|right; tauto].
    intros i; destruct (Rlt_dec 0 (needs P e i j)), (Rle_dec (before P M e i) (M e)); [left; auto|right..]; tauto. }
  { exists j, i. unfold needs in N; destruct (hereb P e i) eqn:E; [|lra]. apply hereb_here in E.
    pose proof (brings P Mo i I); pose proof (demand_ge0 P Mo i j). repeat split; auto; try apply E. nra. }
  exfalso. destruct (small_step (m P) (fun j s => use P M e j (M e + s) <= pool P e)) as [s [S0 Ok]].
  - intros j J. destruct (Rle_lt_or_eq_dec _ _ (F j J)) as [slack|full].
    + destruct (small_part 1 (fun _ => Σ i < n P, needs P e i j) (fun _ => pool P e - use P M e j (M e)))
      as [s [S1 Ok]].
      * intros _ _; split; [apply sum_ge0; intros; apply needs_ge0; auto|lra].
      * exists s; split; [auto|]. pose proof (use_step P M e j (M e) s Mo ltac:(lra)).
        specialize (Ok O (Nat.lt_0_succ 0)). lra.
    + destruct (small_step (n P) (fun i s => needs P e i j = 0 \/ M e + s <= before P M e i)) as [s [S1 Ok]].
      * intros i I. destruct (Rle_lt_dec (needs P e i j) 0) as [Z|N]; [exists 1; split; [lra|left;
        pose proof (needs_ge0 P e i j Mo I); lra]|]. destruct (Rle_lt_dec (before P M e i) (M e)) as [B|B]; [exfalso;
        apply no; exists j; repeat split; auto; exists i; auto|].
        exists (before P M e i - M e); split; [lra|right; lra].
      * intros i s t [|] T; [left; auto|right; lra].
      * exists s; split; [auto|]. apply Req_le; rewrite <- full, !use_needs; apply sum_ext; intros i I.
        destruct (Ok i I) as [->|G]; [lra|]. rewrite !Rmax_right by lra; auto.
  - intros j s t O T. apply Rle_trans with (2 := O). apply use_mono; [auto|lra].
  - specialize (L (M e + s) Ok). lra. Qed.
(* {lem-dmfa_srq-use} Where such a resource is used up, no larger level fits. *)
Theorem nothing_larger_fits P M e j i : model P -> (j < m P)%nat -> here P e i -> 0 < d P i j ->
  before P M e i <= M e -> use P M e j (M e) = pool P e -> forall x, fits P M e x -> x <= M e.
Proof. intros Mo J I D B E x F. suppose G. specialize (F j J). rewrite <- E, !use_needs in F. revert F.
  apply Rlt_not_le, sum_lt with i; [|apply I|].
  - intros h H; apply Rmult_le_compat_l; [apply needs_ge0; auto|apply Rle_max_compat_r; lra].
  - rewrite !needs_here by auto.
    pose proof (brings P Mo i (proj1 I)). rewrite !Rmax_left by lra. apply Rmult_lt_compat_l; auto. nra. Qed.
(* {lem-dmfa_srq-1} With positive demands there is only one optimal solution. *)
Theorem one_solution P M e u : model P -> runs P M -> (exists i, here P e i) -> positive_demands P e ->
  program P M e (M e) u -> forall i, here P e i -> u i = units P M e i.
Proof. intros Mo R S D [U F] i H. destruct (binding P M e Mo R S) as [j [h [J [_ [_ [_ E]]]]]].
  specialize (F j J); rewrite <- E in F. unfold use in F. assert (Le : ∀ k < n P, (if hereb P e k then w P k * d P k j *
  Rmax (M e) (before P M e k) else 0) <= (if hereb P e k then u k * d P k j else 0)).
  { intros k K; destruct (hereb P e k) eqn:B; [|lra]. apply hereb_here in B. destruct (U k B).
  specialize (D k j B J). minmax. } destruct H as [I C]. unfold units; rewrite level_step by lia.
  destruct (U i (conj I C)) as [U1 U2]. assert (Lo : w P i * Rmax (M e) (before P M e i) <= u i) by (minmax).
  destruct (Rle_lt_or_eq_dec _ _ Lo) as [lt|]; [exfalso|auto]. assert (B : hereb P e i = true) by
  (apply hereb_here; split; auto). apply (Rlt_not_le _ _ (sum_lt (n P) _ _ i Le I ltac:(simpl; rewrite B;
  specialize (D i j (conj I C) J); nra))). exact F. Qed.
Lemma largest_exists P M e : model P -> (exists i, here P e i) -> fits P M e 1 -> {x | largest P M e x}.
Proof. intros Mo H F1. destruct (completeness (fun x => fits P M e x)) as [x [Up Least]]; [|exists 1; auto|].
  - destruct H as [i [I C]]. destruct (dominant P Mo i I) as [k [K D]]. exists (pool P e / w P i). intros x F.
    pose proof (brings P Mo i I) as W. apply Rmult_le_reg_r with (w P i); auto.
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r. apply Rle_trans with (2 := F k K).
    rewrite use_needs. assert (B : hereb P e i = true) by (apply hereb_here; split; auto).
    apply Rle_trans with (needs P e i k * Rmax x (before P M e i)).
    + unfold needs; rewrite B, D. pose proof (Rmax_l x (before P M e i)). nra.
    + apply (sum_term (n P) (fun h => needs P e h k * Rmax x (before P M e h))); auto.
      intros h Hh; apply Rmult_le_pos; [apply needs_ge0; auto|]. apply Rle_trans with (before P M e h);
      [apply before_ge0|apply Rmax_r].
  - exists x; split; [|intros; apply Up; auto]. intros j J. apply Rnot_lt_le; intros G.
    destruct (small_part 1 (fun _ => Σ i < n P, needs P e i j) (fun _ => (use P M e j x - pool P e) / 2)) as [s [S Ok]].
    { intros _ _; split; [apply sum_ge0; intros; apply needs_ge0; auto|lra]. } assert (x <= x - s); [|lra]. apply Least.
    intros z F. apply Rnot_lt_le; intros Z. specialize (F j J). specialize (Ok O (Nat.lt_0_succ 0)).
    pose proof (use_step P M e j z s Mo ltac:(lra)). pose proof (use_mono P M e j x (z + s) Mo ltac:(lra)). lra. Qed.
(* What has happened up to an event depends on no later M. *)
Lemma level_ext P M M' e i : (forall f, (f <= e)%nat -> M f = M' f) -> level P M e i = level P M' e i.
Proof. induction e as [|e IH]; intros E; simpl; [rewrite E by auto; auto|]. rewrite E, IH by auto. auto. Qed.
Lemma largest_ext P M M' e x : (∀ f < e, M f = M' f) -> largest P M e x -> largest P M' e x.
Proof. intros E. assert (U : forall z, fits P M e z <-> fits P M' e z); [|intros [F L]; split; [apply U;
  auto|intros z Z; apply L, U; auto]]. assert (B : forall i, before P M e i = before P M' e i) by (intros i; destruct e;
  [auto|apply level_ext; intros; apply E; lia]). intros z; split; intros F j J; specialize (F j J);
  rewrite use_needs in *; [erewrite sum_ext|erewrite sum_ext in F]; try exact F; intros; cbn beta; rewrite B; auto. Qed.
Lemma some_here P e : {exists i, here P e i} + {~ exists i, here P e i}.
Proof. destruct (dec_ex (n P) (fun i => hereb P e i = true)) as [Y|N]; [intros i; destruct (hereb P e i);
  auto|left|right; intros [i H]; apply N].
  - destruct Y as [i [_ H]]; exists i; apply hereb_here; auto.
  - exists i; split; [apply H|apply hereb_here; auto]. Qed.
Lemma run_until P : model P -> forall k, {M | ∀ e < k, (exists i, here P e i) -> largest P M e (M e)}.
Proof. intros Mo; induction k as [|k [M R]]; [exists (fun _ => 0); lia|].
  destruct (some_here P k) as [S|N]; [destruct (largest_exists P M k Mo S (one_fits P M k Mo R)) as [x L]|set (x := 0)];
  exists (fun e => if Nat.eqb e k then x else M e); intros e E Se; destruct (Nat.eqb_spec e k) as [->|]; try tauto.
  2, 3: apply (largest_ext P M); [intros f F; destruct (Nat.eqb_spec f k); [lia|auto]|apply R; [lia|auto]].
  apply (largest_ext P M); [intros f F; destruct (Nat.eqb_spec f k); [lia|auto]|auto]. Defined.
(* {lem-dmfa_srq-use} A lowest level exists at each event. *)
Theorem run_exists P : model P -> exists M, runs P M.
Proof. intros Mo. set (upto k := proj1_sig (run_until P Mo k)).
  assert (Same : forall k e, (e < k)%nat -> upto (S k) e = upto k e). { intros k e E; unfold upto; simpl.
  destruct (run_until P Mo k) as [M R]; simpl. destruct (some_here P k); [destruct (largest_exists _ _ _ _ _ _)|];
  simpl; (destruct (Nat.eqb_spec e k); [lia|auto]). } assert (All : forall k e, (e < k)%nat -> upto k e = upto (S e) e).
  { induction k as [|k IH]; intros e E; [lia|]. destruct (Nat.eq_dec e k) as [->|]; [auto|rewrite Same by lia; apply IH;
  lia]. } exists (fun e => upto (S e) e). intros e H. apply (largest_ext P (upto (S e))); [intros f F; apply All; lia|].
  apply (proj2_sig (run_until P Mo (S e))); auto. Qed.
(* ------------------------------------------------------------------------------------------- the four theorems *)
(* {thm-dmfa_srq-1} {prop-dmfa_srq-stays} Pareto optimality, if all demands are positive: the bundles x are worth u to
   the users. *)
Theorem pareto_optimality P M e x u i : model P -> runs P M -> positive_demands P e -> (∀ j < m P, (Σ h < n P,
  if hereb P e h then x h j else 0) <= pool P e) -> (forall h, here P e h -> units P M e h <= u h /\ ∀ j < m P,
  d P h j * u h <= x h j) -> here P e i -> u i <= units P M e i.
Proof. intros Mo R D X H I. suppose G. destruct (binding P M e Mo R (ex_intro _ i I)) as [j [_ [J [_ [_ [_ E]]]]]].
  specialize (X j J). rewrite <- E, <- use_now in X. revert X; apply Rlt_not_le, sum_lt with i; [|apply I|].
  - intros h K; unfold needs; destruct (hereb P e h) eqn:B; [|lra]. apply hereb_here in B.
    destruct (H h B) as [U V]. specialize (V j J); specialize (D h j B J). unfold units in U. nra.
  - unfold needs; rewrite (proj2 (hereb_here P e i)) by auto.
    destruct (H i I) as [_ V]. specialize (V j J); specialize (D i j I J). unfold units in G. nra. Qed.
(* {thm-dmfa_srq-3} {prop-dmfa_srq-stays} A user that is envied came earlier and has gained nothing since. *)
Theorem envy P M e i h u : model P -> here P e i -> here P e h -> room P i (bundle P M e h) u ->
  units P M e i / w P i < u / w P h -> (came P h < came P i)%nat /\ level P M e h = before P M (came P i) h.
Proof. intros Mo I H Rm Env. apply (nothing_gained_since P M e i h); [apply I|].
  destruct (dominant P Mo i (proj1 I)) as [k [K D]]. specialize (Rm k K); unfold bundle, units in Rm; rewrite D in Rm.
  pose proof (brings P Mo i (proj1 I)); pose proof (brings P Mo h (proj1 H)). unfold units in Env.
  replace (w P i * level P M e i / w P i) with (level P M e i) in Env by (field; lra).
  apply Rlt_le_trans with (u / w P h); auto. apply Rmult_le_reg_r with (w P h); auto.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. pose proof (demand_le1 P Mo h k); pose proof (level_ge0 P M e h).
  assert (0 <= w P h * level P M e h) by nra. nra. Qed.
(* ------------------------------------------------------------------------------------------- two runs side by side *)
Lemma somebody_less P Q M M' e : model P -> model Q -> runs P M -> runs Q M' -> n Q = n P -> m Q = m P -> (forall i,
  here P e i <-> here Q e i) -> pool Q e <= pool P e -> (exists i, here P e i) -> (forall i j, here P e i ->
  (j < m P)%nat -> bundle P M e i j <= bundle Q M' e i j) -> (forall i j, here P e i -> (j < m P)%nat ->
  level P M e i = M e -> 0 < d P i j -> exists g, here P e g /\ bundle P M e g j < bundle Q M' e g j) -> False.
Proof. intros Mo Mq R R' en em same W S Less More. destruct (binding P M e Mo R S) as [j [i [J [I [D [B E]]]]]].
  assert (Si : exists h, here Q e h) by (exists i; apply same; auto). destruct (R' e Si) as [F _].
  specialize (F j ltac:(lia)). rewrite <- use_now in F. rewrite <- use_now in E.
  assert (L : (Σ h < n P, needs P e h j * level P M e h) < Σ h < n P, needs Q e h j * level Q M' e h).
  { assert (eq : ∀ h < n P, hereb Q e h = hereb P e h).
    { intros h H. apply Bool.eq_true_iff_eq. rewrite !hereb_here.
    symmetry; apply same. } destruct (More i j I J) as [g [G Lt]]; auto; [rewrite level_step by apply I;
    apply Rmax_left; auto|]. apply sum_lt with g; [|apply G|].
    - intros h H; unfold needs; rewrite eq by auto; destruct (hereb P e h) eqn:Hb; [|lra]. apply hereb_here in Hb.
      specialize (Less h j Hb J); unfold bundle, units in Less; lra.
    - unfold needs; rewrite eq by apply G. rewrite (proj2 (hereb_here P e g)) by auto.
      unfold bundle, units in Lt; lra. }
  rewrite <- en in L at 2. lra. Qed.
(* {lem-dmfa_srq-count} Q is another run. It cannot be that under Q nobody has less and the lowest users have more. *)
Theorem nobody_less P Q M M' e : model P -> model Q -> runs P M -> runs Q M' -> n Q = n P -> m Q = m P ->
  (forall i, here P e i <-> here Q e i) -> pool Q e <= pool P e -> (exists i, here P e i) -> (forall i j, here P e i ->
  (j < m P)%nat -> bundle P M e i j <= bundle Q M' e i j) -> (forall i j, here P e i -> (j < m P)%nat ->
  level P M e i = M e -> 0 < d P i j -> bundle P M e i j < bundle Q M' e i j) -> False.
Proof. intros Mo Mq R R' en em same W S Less More. apply (somebody_less P Q M M' e); auto.
  intros i j I J L D; exists i; auto. Qed.
Lemma same_past P Q M M' p : runs P M -> runs Q M' -> alike P Q p ->
  ∀ e < p, forall i, here P e i -> level Q M' e i = level P M e i.
Proof. intros R R' [en [em A]]; induction e as [e IH] using lt_wf_ind; intros Ep i I.
  assert (Bf : forall h, here P e h -> before Q M' e h = before P M e h).
  { intros h H. destruct e as [|e]; [auto|]. simpl. destruct (A (S e) Ep) as [_ Ah].
    destruct (le_lt_dec (came P h) e) as [C|C].
    - apply IH; [lia|lia|]. destruct H as [Hn Hc]; split; [auto|lia].
    - rewrite (level_before_came P) by auto. apply level_before_came.
      destruct (A e ltac:(lia)) as [_ Ae]. destruct (Ae h (proj1 H)) as [_ [Ce _]]. lia. }
  assert (U : forall j x, (j < m P)%nat -> use Q M' e j x = use P M e j x).
  { intros j x J; unfold use; rewrite en; apply sum_ext; intros h H. destruct (A e Ep) as [_ Ah].
    destruct (Ah h H) as [Hb [_ Dh]]. rewrite Hb; destruct (hereb P e h) eqn:E; [|auto]. apply hereb_here in E.
    destruct (Dh E) as [-> Dj]. rewrite Dj, Bf by auto. auto. }
  destruct (A e Ep) as [Wq Ah]. destruct (Ah i (proj1 I)) as [Hb [Ci _]]. assert (Iq : here Q e i).
  { apply hereb_here; rewrite Hb; apply hereb_here; auto. }
  rewrite !level_step by (apply I || apply Iq). rewrite Bf by auto. f_equal.
  destruct (R e (ex_intro _ i I)) as [F L], (R' e (ex_intro _ i Iq)) as [F' L'].
  apply Rle_antisym; [apply L|apply L']; intros j J; [rewrite <- U, <- Wq by auto; apply F'; lia|]. rewrite em in J.
  rewrite U, Wq by auto; apply F; auto. Qed.
Lemma others_have_no_less P Q M M' e i p h : runs P M -> runs Q M' -> alike P Q p -> came P i = p ->
  here P e i -> here P e h -> (came Q h <= e)%nat -> ((came P h < p)%nat -> (came Q h < p)%nat) ->
  M' e > level P M e i -> level P M e h <= level Q M' e h /\ (level P M e h = M e -> level P M e h < level Q M' e h).
Proof. intros R R' A C I H Cq Early G. pose proof (level_lowest Q M' e h Cq) as Low.
  assert (Lo : M e <= level P M e i) by (apply level_lowest, I). destruct (Rle_lt_dec (level P M e h) (level P M e i))
  as [L|L]; [split; [|intros _]; lra|]. split; [|lra]. destruct (nothing_gained_since P M e i h (proj1 (proj2 I)) L)
  as [Ch E]. rewrite E, C in *. destruct p as [|p]; [lia|]. simpl before.
  rewrite <- (same_past P Q M M' (S p) R R' A p (Nat.lt_succ_diag_r p) h).
  - apply level_mono. destruct I as [_ [I _]]; lia.
  - destruct H as [Hn [Hc Hg]]; split; [auto|]. split; [lia|]. destruct I as [_ [I _]]; lia. Qed.
(* {lem-dmfa_srq-4} The lie is about the demand alone. Where the share of the liar is larger and has just risen,
   nobody has less. *)
Theorem nobody_loses P Q M M' e i h : model P -> runs P M -> runs Q M' -> alike P Q (came P i) ->
  here P e i -> here P e h -> (forall k, came Q k = came P k) -> (forall k, w Q k = w P k) ->
  units P M e i < units Q M' e i -> units Q M' e i <> w Q i * before Q M' e i -> units P M e h <= units Q M' e h.
Proof. intros Mo R R' A I H C W G Rose. pose proof (brings P Mo i (proj1 I)); pose proof (brings P Mo h (proj1 H)).
  assert (Low : level Q M' e i = M' e). { unfold units in Rose. rewrite level_step in * by (rewrite C; apply I).
  unfold Rmax in *. destruct (Rle_dec _ _); [tauto|auto]. }
  unfold units in *. rewrite W, Low in G. destruct (others_have_no_less P Q M M' e i (came P i) h R R' A eq_refl I H)
  as [Le _]; try (rewrite C; auto; apply H); [nra|rewrite W; nra]. Qed.
(* {lem-dmfa_srq-4} This is so at the first event at which the share of the liar is larger. *)
Theorem first_has_risen P Q M M' e i : model P -> model Q -> here P e i -> here Q e i -> came Q i = came P i ->
  (forall f, (came P i <= f < e)%nat -> units Q M' f i <= units P M f i) -> units P M e i < units Q M' e i ->
  units Q M' e i <> w Q i * before Q M' e i.
Proof. intros Mo Mq I Iq C Bef G E. pose proof (brings P Mo i (proj1 I)); pose proof (brings Q Mq i (proj1 Iq)).
  destruct (Nat.eq_dec (came P i) e) as [Ce|N].
  - assert (Z : before Q M' e i = 0) by (destruct e; [auto|apply level_before_came; lia]). rewrite Z in E.
    unfold units in *. pose proof (level_ge0 P M e i). nra.
  - destruct e as [|e]; [destruct I as [_ [I _]]; lia|]. simpl before in E.
    specialize (Bef e ltac:(destruct I as [_ [I _]]; lia)). pose proof (level_mono P M e (S e)
    i (Nat.le_succ_diag_r e)). unfold units in *. nra. Qed.
(* {thm-dmfa_srq-4} {thm-dmfa_srq-late} {prop-dmfa_srq-stays} A user comes at event p' >= p instead of p, states
   any demand and brings at most as much. Then it has at most as many true tasks. *)
Theorem lie_or_come_late P Q M M' i : model P -> model Q -> runs P M -> runs Q M' -> (i < n P)%nat ->
  (came P i <= came Q i)%nat -> alike P Q (came P i) -> w Q i <= w P i -> (forall e, (came Q i <= e < gone Q i)%nat ->
  pool Q e <= pool P e /\ forall h, here P e h <-> here Q e h) -> (forall h, h <> i -> w Q h = w P h /\ forall j,
  d Q h j = d P h j) -> (forall h, (came P h < came P i)%nat -> (came Q h < came P i)%nat) -> forall e u, here Q e i ->
  room P i (bundle Q M' e i) u -> u <= units P M e i.
Proof. intros Mo Mq R R' In Late A Wi Hp Others Early. assert (A' := A); destruct A' as [en [em _]].
  induction e as [e IH] using lt_wf_ind; intros u Iq Rm. suppose G. destruct (Hp e (proj2 Iq)) as [W same].
  assert (I : here P e i) by (apply same; auto). destruct (dominant P Mo i In) as [k [K D]].
  pose proof (brings P Mo i In) as Wp. assert (Wq : 0 < w Q i) by (apply (brings Q Mq); lia).
  assert (Uq : u <= units Q M' e i). { specialize (Rm k K); rewrite D in Rm; unfold bundle in Rm.
  pose proof (demand_le1 Q Mq i k); pose proof (demand_ge0 Q Mq i k).
  assert (0 <= units Q M' e i) by (unfold units; pose proof (level_ge0 Q M' e i); nra). nra. }
  (* the share rose at e *)
  assert (Rose : level Q M' e i = M' e).
  { rewrite level_step by apply Iq. unfold Rmax; destruct (Rle_dec (M' e) (before Q M' e i)) as [L|]; [exfalso|auto].
    destruct e as [|e]; [simpl in L; pose proof (positive Q M' O Mq R' (ex_intro _ i Iq)); lra|]. simpl in L.
    destruct (le_lt_dec (came Q i) e) as [C|C]; [|rewrite level_before_came in L by auto;
    pose proof (positive Q M' (S e) Mq R' (ex_intro _ i Iq)); lra].
    assert (Same : level Q M' (S e) i = level Q M' e i) by (rewrite level_step by lia; simpl; apply Rmax_right; auto).
    assert (u <= units P M e i).
    { apply IH; [lia|destruct Iq as [Q1 Q2]; split; [auto|lia]|].
      intros j J; specialize (Rm j J); unfold bundle, units in *; rewrite <- Same; auto. }
    pose proof (level_mono P M e (S e) i ltac:(lia)). unfold units in *. nra. }
  assert (High : M' e > level P M e i). { unfold units in *; rewrite Rose in *. apply Rnot_le_gt; intros L.
  pose proof (positive Q M' e Mq R' (ex_intro _ i Iq)). nra. }
  apply (nobody_less P Q M M' e Mo Mq R R' en em same W (ex_intro _ i I)).
  all: intros h j H J; assert (Hq : here Q e h) by (apply same; auto); destruct (Nat.eq_dec h i) as [->|N].
  1, 3: specialize (Rm j J); pose proof (demand_ge0 P Mo i j); unfold bundle at 1; first [nra|intros _ Dj; nra].
  all: destruct (others_have_no_less P Q M M' e i (came P i) h R R' A eq_refl I H (proj1 (proj2 Hq)) (Early h) High)
    as [Le Lt].
  all: destruct (Others h N) as [Wh Dh]; unfold bundle, units; rewrite Wh, Dh; pose proof (brings P Mo h (proj1 H));
    pose proof (demand_ge0 P Mo h j).
  - apply Rmult_le_compat_r; auto. apply Rmult_le_compat_l; lra.
  - intros E Dj; specialize (Lt E). apply Rmult_lt_compat_r; auto. apply Rmult_lt_compat_l; lra. Qed.
(* ------------------------------------------------------------------------------------------- coalitions *)
Section coalition.
(* {model} *)
(* A coalition: its members state any demands and bring no more; l is the first of them to arrive. *)
Variables (P Q : course) (M M' : nat -> R) (member : nat -> bool) (l e : nat) (u : nat -> R).
Hypotheses (Mo : model P) (Mq : model Q) (R1 : runs P M) (R2 : runs Q M') (en : n Q = n P) (em : m Q = m P)
  (same_came : forall i, came Q i = came P i) (same_gone : forall i, gone Q i = gone P i)
  (others : forall i, member i = false -> w Q i = w P i /\ forall j, d Q i j = d P i j)
  (brought : ∀ i < n P, w Q i <= w P i)
  (first : member l = true) (earliest : forall i, member i = true -> (came P l <= came P i)%nat)
  (present : forall i, member i = true -> here P e i)
  (worth : forall i, member i = true -> room P i (bundle Q M' e i) (u i) /\ units P M e i <= u i)
  (gains : units P M e l < u l).
(* {end} *)
Lemma hereb_same t i : hereb Q t i = hereb P t i.
Proof. unfold hereb; rewrite en, same_came, same_gone; auto. Qed.
Lemma here_same t i : here P t i <-> here Q t i.
Proof. unfold here; rewrite en, same_came, same_gone; tauto. Qed.
Lemma room_units t i v : here P t i -> room P i (bundle Q M' t i) v -> v <= units Q M' t i.
Proof. intros [I _] Rm. destruct (dominant P Mo i I) as [k [K D]].
  specialize (Rm k K); rewrite D in Rm; unfold bundle in Rm. assert (0 <= units Q M' t i).
  { unfold units; apply Rmult_le_pos; [apply Rlt_le, (brings Q Mq); lia|apply level_ge0]. }
  pose proof (demand_le1 Q Mq i k). nra. Qed.
Lemma moment : exists t, (t <= e)%nat /\ here P t l /\ level Q M' e l = M' t /\ level P M t l < M' t /\
  forall i, member i = true -> here P t i -> forall j, bundle Q M' e i j = bundle Q M' t i j.
Proof. destruct (present l first) as [Ln [Lc Lg]]. destruct (level_is_largest Q M' e l) as [_ [t [T E]]];
  [rewrite same_came; auto| |].
  { intros t T; rewrite same_came in T. apply (positive Q M' t Mq R2). exists l; apply here_same; split; [auto|lia]. }
  rewrite same_came in T. assert (Ht : here P t l) by (split; [auto|lia]). assert (Et : level Q M' t l = M' t).
  { apply Rle_antisym; [rewrite <- E; apply level_mono; lia|apply level_lowest; rewrite same_came; lia]. }
  exists t; split; [lia|split; [auto|split; [auto|split]]].
  - destruct (worth l first) as [Rm _]. pose proof (room_units e l (u l) (present l first) Rm) as U.
    unfold units in *; rewrite E in U. pose proof (brings P Mo l Ln); pose proof (brought l Ln).
    pose proof (level_mono P M t e l ltac:(lia)). assert (0 < M' t) by (apply (positive Q M' t Mq R2); exists l;
    apply here_same; auto). nra.
  - intros i Im Hi j; unfold bundle, units. f_equal; f_equal. apply Rle_antisym; [|apply level_mono; lia].
    apply Rle_trans with (level Q M' e l); [apply sorted_by_arrival; rewrite !same_came; auto|].
    rewrite E; apply level_lowest; rewrite same_came; apply Hi. Qed.
Lemma pool_less t : pool Q t <= pool P t.
Proof. unfold pool; rewrite en; apply sum_le; intros i I; rewrite same_came; destruct (came P i <=? t)%nat; [auto|lra].
  Qed.
Lemma past : alike P Q (came P l).
Proof. repeat split; auto; try apply hereb_same; try (rewrite same_came; auto; fail).
  - unfold pool; rewrite en; apply sum_ext; intros i I; rewrite same_came.
    destruct (came P i <=? e0)%nat eqn:C; [|auto]. destruct (member i) eqn:B; [apply Nat.leb_le in C;
    specialize (earliest i B); lia|apply others; auto].
  - destruct (member i) eqn:B; [specialize (earliest i B); destruct H1; lia|apply others; auto].
  - intros j _. destruct (member i) eqn:B; [specialize (earliest i B); destruct H1; lia|apply others; auto]. Qed.
Lemma nobody_has_less t : here P t l -> (t <= e)%nat -> level P M t l < M' t -> (forall i, member i = true ->
  here P t i -> forall j, bundle Q M' e i j = bundle Q M' t i j) -> forall i j, here P t i -> (j < m P)%nat ->
  bundle P M t i j <= bundle Q M' t i j /\ (member i = false -> level P M t i = M t -> 0 < d P i j ->
  bundle P M t i j < bundle Q M' t i j) /\ (member i = true -> units P M e i < u i -> 0 < d P i j ->
  bundle P M t i j < bundle Q M' t i j).
Proof. intros Hl T High Still i j Hi J. pose proof (demand_ge0 P Mo i j) as D0.
  pose proof (brings P Mo i (proj1 Hi)) as W. destruct (member i) eqn:B.
  - destruct (worth i B) as [Rm U]. specialize (Rm j J). rewrite (Still i B Hi j) in Rm.
    assert (Up : units P M t i <= units P M e i) by (unfold units; pose proof (level_mono P M t e i T); nra).
    unfold bundle at 1 3 5. split; [nra|split; [discriminate|intros _ G D; nra]].
  - destruct (others_have_no_less P Q M M' t l (came P l) i R1 R2 past eq_refl Hl Hi) as [Le Lt]; auto.
    { rewrite same_came; apply Hi. } { rewrite same_came; auto. }
    destruct (others i B) as [Wi Di]. unfold bundle, units; rewrite Wi, Di. split; [|split; [|discriminate]].
    + apply Rmult_le_compat_r; auto; apply Rmult_le_compat_l; lra.
    + intros _ E D; specialize (Lt E); apply Rmult_lt_compat_r; auto; apply Rmult_lt_compat_l; lra. Qed.
(* {thm-dmfa_srq-coalition} {prop-dmfa_srq-stays} The members of the coalition do not all gain. *)
Theorem not_all_gain : (forall i, member i = true -> units P M e i < u i) -> False.
Proof. intros All; destruct moment as [t [T [Hl [_ [High Still]]]]].
  apply (nobody_less P Q M M' t Mo Mq R1 R2 en em (here_same t) (pool_less t) (ex_intro _ l Hl)); intros i j Hi J.
  - apply (nobody_has_less t Hl T High Still i j Hi J).
  - intros E D. destruct (nobody_has_less t Hl T High Still i j Hi J) as [_ [Out In]].
    destruct (member i) eqn:B; [apply In|apply Out]; auto. Qed.
(* {thm-dmfa_srq-coalition} {prop-dmfa_srq-stays} If the first member gains and all its demands are positive, another
   member loses. *)
Theorem first_gains_alone : (∀ j < m P, 0 < d P l j) -> False.
Proof. intros D; destruct moment as [t [T [Hl [_ [High Still]]]]].
  apply (somebody_less P Q M M' t Mo Mq R1 R2 en em (here_same t) (pool_less t) (ex_intro _ l Hl)); intros i j Hi J.
  - apply (nobody_has_less t Hl T High Still i j Hi J).
  - intros _ _; exists l; split; [auto|]. apply (nobody_has_less t Hl T High Still l j Hl J); auto. Qed.
End coalition.

(* ------------------------------------------------------------------------------------------- the static optimum *)
Lemma static_use P e x : model P ->
  (exists u, static_program P e x u) <-> ∀ j < m P, (Σ i < n P, needs P e i j) * x <= pool P e.
Proof. intros Mo; split.
  - intros [u [U F]] j J. apply Rle_trans with (2 := F j J). rewrite <- sum_mul; apply sum_le; intros i I. unfold needs.
    destruct (hereb P e i) eqn:E; [|lra]. apply hereb_here in E. specialize (U i E).
    pose proof (demand_ge0 P Mo i j). nra.
  - intros F; exists (fun i => x * w P i); split; [intros; lra|]. intros j J. apply Rle_trans with (2 := F j J).
    rewrite <- sum_mul; apply Req_le, sum_ext; intros i I; unfold needs; destruct (hereb P e i); lra. Qed.
Lemma pool_gt0 P e : model P -> (exists i, here P e i) -> 0 < pool P e.
Proof. intros Mo [g Hg]. apply sum_gt0 with g; [|apply Hg|];
  [intros i I; destruct (came P i <=? e)%nat; [apply Rlt_le, brings; auto|lra]|].
  replace (came P g <=? e)%nat with true by (symmetry; apply Nat.leb_le, Hg). apply brings; [auto|apply Hg]. Qed.
(* {prop-dmfa_srq-static} The formula divides W by the largest sum of needs. It has a value, and this value is the
   optimum. *)
Theorem static_formula P e : model P -> (exists i, here P e i) -> exists x u, static_formula_of P e x /\
  static_optimum P e x u.
Proof. intros Mo H. pose proof (pool_gt0 P e Mo H) as W. destruct H as [g [G Hg]].
  destruct (dominant P Mo g G) as [k [K D]]. set (S := fun j => Σ i < n P, needs P e i j).
  destruct (least (m P) (fun j => 0 < S j) (fun j => pool P e / S j)) as [j [J [Sj L]]].
  { intros j; destruct (Rlt_dec 0 (S j)); auto. }
  { exists k; split; [auto|]. apply sum_gt0 with g; auto; [intros; apply needs_ge0; auto|].
    rewrite needs_here, D by (split; auto).
    pose proof (brings P Mo g G). lra. }
  assert (E : S j * (pool P e / S j) = pool P e) by (field; lra). exists (pool P e / S j).
  assert (F : ∀ l < m P, S l * (pool P e / S j) <= pool P e).
  { intros l Hl. assert (S0 : 0 <= S l) by (apply sum_ge0; intros; apply needs_ge0; auto).
    destruct S0 as [Sl|Z]; [|rewrite <- Z; lra]. specialize (L l Hl Sl); simpl in L.
    apply Rmult_le_compat_l with (r := S l) in L; [|lra]. replace (S l * (pool P e / S l)) with (pool P e) in L by
    (field; lra). lra. }
  destruct (proj2 (static_use P e (pool P e / S j) Mo) F) as [u U]. exists u; split; [split; [exact F|exists j; auto]|].
  split; [auto|]. intros z v Z. pose proof (proj1 (static_use P e z Mo) (ex_intro _ v Z) j J) as Zj. fold (S j) in Zj.
  rewrite <- E in Zj. apply Rmult_le_reg_l with (2 := Zj); auto. Qed.
(* {prop-dmfa_srq-static} With the second constraint the lowest level is no higher. *)
Theorem static_is_a_bound P M e x u : model P -> runs P M -> (exists i, here P e i) -> static_optimum P e x u ->
  M e <= x.
Proof. intros Mo R S [_ L]. destruct (fits_program P M e (M e) Mo (proj1 (R e S))) as [U F].
  apply (L (M e) (fun i => w P i * Rmax (M e) (before P M e i))). split; [intros i H; apply U; auto|exact F]. Qed.
Lemma static_full P e x u : model P -> static_optimum P e x u -> ∃ j < m P, (Σ i < n P, needs P e i j) * x = pool P e.
Proof. intros Mo [F L]. pose proof (proj1 (static_use P e x Mo) (ex_intro _ u F)) as Fx.
  destruct (dec_ex (m P) (fun j => (Σ i < n P, needs P e i j) * x = pool P e)) as [|no]; [intros j;
  apply Req_EM_T|auto|exfalso]. destruct (small_part (m P) (fun j => Σ i < n P, needs P e i j)
  (fun j => pool P e - (Σ i < n P, needs P e i j) * x)) as [s [S Ok]].
  - intros j J; split; [apply sum_ge0; intros; apply needs_ge0; auto|]. specialize (Fx j J).
    destruct (Rle_lt_or_eq_dec _ _ Fx); [lra|exfalso; apply no; exists j; auto].
  - destruct (proj2 (static_use P e (x + s) Mo)) as [v V]; [intros j J; specialize (Ok j J); lra|].
    specialize (L (x + s) v V); lra. Qed.
Lemma drf_pool_model P e : model P -> (exists i, here P e i) -> foundations.model (drf_pool P e).
Proof. intros Mo H. pose proof (Rinv_0_lt_compat _ (pool_gt0 P e Mo H)) as W. destruct H as [g [G _]].
  assert (there : forall i, hereb P e i = true -> 0 < w P i).
  { intros i B; apply brings; [auto|]. unfold hereb in B; apply andb_prop in B as [B _]; apply Nat.ltb_lt; auto. }
  split; unfold drf_pool, needs, Rdiv; simpl.
  - intros i _; destruct (hereb P e i) eqn:B; [specialize (there i B)|]; nra.
  - intros i _; destruct (hereb P e i) eqn:B; [specialize (there i B); nra|auto].
  - intros i j; destruct (hereb P e i) eqn:B; [specialize (there i B)|lra]. pose proof (demand_ge0 P Mo i j).
    repeat apply Rmult_le_pos; lra.
  - intros i j _; destruct (hereb P e i) eqn:B; [specialize (there i B)|lra]. pose proof (demand_le1 P Mo i j).
    apply Rmult_le_compat_r; nra.
  - intros i I; destruct (dominant P Mo i I) as [k [K D]]; exists k; split; [auto|]. rewrite D; destruct (hereb P e i);
    lra.
  - intros i _; destruct (hereb P e i); simpl; [auto|lra]. Qed.
Lemma unweighted_pool_model P e : model P -> foundations.model (unweighted_pool P e).
Proof. intros Mo; split; simpl; intros i.
  3, 4: intros j; pose proof (demand_ge0 P Mo i j); pose proof (demand_le1 P Mo i j).
  5: intros I; destruct (dominant P Mo i I) as [k [K D]]; exists k; rewrite D.
  all: destruct (hereb P e i); simpl; auto; try lra; intros; lra. Qed.
(* {prop-dmfa_srq-static} With positive demands the optimum is weighted DRF on that pool, and all levels are x. *)
Theorem static_is_drf P e x u : model P -> positive_demands P e -> (exists i, here P e i) -> static_optimum P e x u ->
  let y := fun i => if hereb P e i then u i / w P i else 0 in
  (forall i, here P e i -> y i = x) /\ drf (drf_pool P e) y.
Proof. intros Mo D G Op y. pose proof (drf_pool_model P e Mo G) as DM; pose proof (pool_gt0 P e Mo G) as W.
  destruct (static_full P e x u Mo Op) as [j [J E]]. destruct Op as [[U F] L].
  assert (X : 0 <= x). { destruct (proj2 (static_use P e 0 Mo)) as [v V]; [intros; lra|apply (L 0 v V)]. }
  assert (Eu : forall i, here P e i -> u i = x * w P i).
  { intros i H. destruct (Rle_lt_or_eq_dec _ _ (U i H)) as [lt|]; [exfalso|auto].
    apply (Rlt_not_le (Σ h < n P, if hereb P e h then u h * d P h j else 0) (pool P e)); [|apply F; auto].
    rewrite <- E, <- sum_mul. apply sum_lt with i; [|apply H|].
    - intros h Hn; unfold needs; destruct (hereb P e h) eqn:B; [|lra]. apply hereb_here in B.
      specialize (U h B); specialize (D h j B J); nra.
    - unfold needs; rewrite (proj2 (hereb_here P e i)) by auto. specialize (D i j H J); nra. }
  assert (Ey : ∀ i < n P, y i = if hereb P e i then x else 0). { intros i I; unfold y; destruct (hereb P e i) eqn:B;
  [|auto]. apply hereb_here in B. rewrite Eu by auto. field. apply Rgt_not_eq, brings; auto. }
  assert (Uy : forall k, foundations.use (drf_pool P e) y k = (Σ i < n P, needs P e i k) * x / pool P e).
  { intros k; unfold foundations.use, Rdiv; simpl. rewrite <- !sum_mul. apply sum_ext; intros i I. rewrite Ey by auto.
    unfold needs, Rdiv; destruct (hereb P e i); lra. }
  split; [intros i H; rewrite Ey by apply H; apply hereb_here in H as ->; auto|split; [split; [|split]|]].
  - intros i I; rewrite Ey by auto; destruct (hereb P e i); lra.
  - intros i I; rewrite Ey by auto; simpl; destruct (hereb P e i); simpl; [auto|lra].
  - intros k K; rewrite Uy. apply Rmult_le_reg_r with (pool P e); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra.
    pose proof (proj1 (static_use P e x Mo) (ex_intro _ u (conj U F)) k K); lra.
  - apply foundations.certified_fair; auto. intros i I. rewrite Ey by auto; simpl.
    destruct (hereb P e i) eqn:B; [right|left; auto]. exists j.
    split; [auto|split; [|split]].
    + rewrite Uy, E; field; lra.
    + simpl; unfold needs; rewrite B. apply hereb_here in B. specialize (D i j B J). pose proof (brings P Mo i I).
      unfold Rdiv; apply Rmult_lt_0_compat; [nra|apply Rinv_0_lt_compat; auto].
    + intros h K _; rewrite !Ey, B by auto; destruct (hereb P e h); lra. Qed.
(* {prop-dmfa_srq-static} With equal contributions weighted DRF is DRF, with levels counted in another unit. *)
Theorem equal_contributions P e c y : model P -> (exists i, here P e i) -> (forall i, here P e i -> w P i = c) ->
  drf (drf_pool P e) y -> drf (unweighted_pool P e) (fun i => c / pool P e * y i).
Proof. intros Mo H We [F C]. pose proof (pool_gt0 P e Mo H) as W. pose proof (drf_pool_model P e Mo H) as DM.
  apply foundations.fair_is_leximin, foundations.leximin_certified in C; auto.
  assert (Cp : 0 < c / pool P e). { destruct H as [g G]; rewrite <- (We g G). apply Rdiv_lt_0_compat; [apply brings;
  [auto|apply G]|auto]. }
  destruct (foundations.equal_weights (unweighted_pool P e) (drf_pool P e) (c / pool P e) y) as [F' C']; auto; simpl.
  - intros i j I; unfold needs; destruct (hereb P e i) eqn:B; [apply hereb_here in B; auto; rewrite We by auto|];
    unfold Rdiv; ring.
  - intros i _; destruct (hereb P e i); simpl; [auto|f_equal; unfold Rdiv; ring].
  - split; [auto|apply foundations.certified_fair; auto; apply unweighted_pool_model; auto]. Qed.
(* {whole} lem-dmfa_srq-use prop-dmfa_srq-static cor-dmfa_srq-max lem-dmfa_srq-1 lem-dmfa_srq-2 lem-dmfa_srq-3
  lem-dmfa_srq-4 lem-dmfa_srq-count
   thm-dmfa_srq-1 thm-dmfa_srq-2 thm-dmfa_srq-3 thm-dmfa_srq-4 thm-dmfa_srq-late thm-dmfa_srq-coalition
     prop-dmfa_srq-stays *)
