(* The hypotheses are not contradictory: each record of them has an instance;
   that of Foundations has a zero, a bound and an absent user. *)
From proofs Require Import sums foundations dmfa_srq cbdrf.
From proofs Require lemmas filling tv_drf tv_drf_fair tv_drf_lies tv_drf_whole gdrf gdrf_queue one_level whole_tasks.
From proofs Require drfh virtual_cluster virtual_cluster_whole dmfa_srq_stack.
Local Open Scope R_scope.

(* Two users and two resources: the first needs one of them and has a bound, the second needs both; a third is absent.
   *)
Definition pool_3 := Pool 3 2
  (fun i j => match i, j with 0%nat, 0%nat => 1/2 | 1%nat, 0%nat => 1/2 | 1%nat, 1%nat => 1/4 | _, _ => 0 end)
  (fun i => match i with 0%nat | 1%nat => 1/2 | _ => 0 end) (fun i => match i with 0%nat => Some (1/2) | 1%nat => None |
    _ => Some 0 end).
Example pool_is_a_model : foundations.model pool_3.
Proof. split; simpl; intros; destruct i as [|[|[|i]]]; simpl; try lia; try lra; auto.
  all: try (destruct j as [|[|j]]; lra). all: exists O; split; [lia|lra]. Qed.
Example a_feasible_one : feasible pool_3 (fun i => match i with 0%nat => 1/2 | 1%nat => 3/2 | _ => 0 end).
Proof. split; [|split]; intros i I.
  - destruct i as [|[|[|i]]]; lra.
  - destruct i as [|[|[|i]]]; [| | |simpl in I; lia]; cbn; try lra; exact Logic.I.
  - destruct i as [|[|i]]; [| |simpl in I; lia]; unfold use, pool_3; cbn; lra. Qed.
Example it_can_be_filled : begins pool_3 (filling.State 0 (fun _ => true) (fun _ => 0)) /\ filling.model (to_fill pool_3).
Proof. split; [split; [intros i _; simpl; repeat split; lra|auto]|apply filled_model, pool_is_a_model]. Qed.
(* One user comes after the other, and the first leaves. *)
Definition course_2 := dmfa_srq.Course 2 2 (fun i j => match i, j with 0%nat, 1%nat => 0 | _, _ => 1 end) (fun _ => 1)
  (fun i => i) (fun i => match i with 0%nat => 2%nat | _ => 9%nat end).
Example course_is_a_model : dmfa_srq.model course_2.
Proof. split; simpl; intros; try lra; try (destruct i as [|i], j as [|[|j]]; lra).
  exists O; split; [lia|destruct i; auto]. Qed.
(* One user, who stays; the stack goes on from there *)
Definition one := dmfa_srq.Course 1 1 (fun _ _ => 1) (fun _ => 1) (fun i => i) (fun _ => 9%nat).
Example one_stays : dmfa_srq.model one /\ dmfa_srq_stack.nobody_leaves one.
Proof. split; [split; simpl; intros; try lra; exists O; split; [lia|auto]|intros i I; simpl in *; lia]. Qed.
(* A node in good standing, a punished one and an absent one. *)
Definition phase_3 := Phase 3 1 (fun i => Nat.ltb i 2) (fun _ _ => 1) (fun i => match i with 0%nat => 1 | _ => 1/2 end).
Example phase_is_a_model : cbdrf.model phase_3.
Proof. split; simpl; intros; try lra; try lia; [exists O; split; auto|destruct i; lra]. Qed.
Example course_is_proper : proper_course (cbdrf.Course 1 1 (fun _ _ => true) (fun _ _ _ => 1) (fun _ _ => 1)).
Proof. split; simpl; [lia|intros; split; [intros; lra|intros; exists O; split; [lia|auto]]]. Qed.
Example terms_are_proper : proper (Terms 1 1 (1/10) (1/10) (1/10) (3/4)). Proof. unfold proper; simpl; lra. Qed.
(* Two users own one machine in halves and have more than fits; the first may claim another number of tasks. *)
Definition shared s := tv_drf.Course 2 1 1 (fun _ _ => 1) (fun _ _ => 1/2) (fun _ => 1/2) (fun i _ => match i with O =>
  s | _ => 2 end) (fun _ _ _ => 1/2).
Definition day s := tv_drf.Period (shared s) 0 (fun _ => 0) (fun _ => 0) (fun _ => 1).
Example shared_is_a_model : forall s, 0 <= s -> tv_drf.proper (day s) /\ tv_drf.positive (shared s) /\
  tv_drf_fair.one_pool (shared s) /\ tv_drf_fair.weights (shared s).
Proof. intros s S; split; [split; [split|]|unfold tv_drf.positive, tv_drf_fair.one_pool, tv_drf_fair.weights]; simpl;
  [..|repeat split; intros; lra]; intros; try lra; [destruct i; lra|exists O; split; [lia|lra]]. Qed.
Lemma part_of s i x : 2 <= s -> 0 <= x <= match i with O => s | _ => 2 end -> tv_drf.part (shared s) i 0 x = x.
Proof. intros S X; unfold tv_drf.part, tv_drf.submitted, Rmax, Rmin; destruct i; simpl in *;
  repeat destruct (Rle_dec _ _); lra. Qed.
Example a_chosen_one : forall s, 2 <= s -> tv_drf.chosen (day s) (fun _ => 1).
Proof. intros s S. assert (Al : tv_drf.allowed (day s) (fun _ => 1)).
  { split; [|intros; simpl; lra]. split; [intros i _; unfold tv_drf.position, tv_drf.submitted; destruct i; simpl;
    lra|]. exists (fun _ _ _ => 1); split; [intros; lra|split; [|intros; simpl; lra]]. intros i r I R.
    assert (r = O) as -> by (simpl in R; lia). unfold tv_drf.position; cbn [tv_drf.start tv_drf.past day tv_drf.C].
    rewrite !part_of by (auto; destruct i; lra). simpl; lra. }
  split; [auto|]. apply lemmas.max_min_is_leximin; [auto|]. intros z [[B [q [_ [Qs Qc]]]] Lo] i I G; exfalso.
  unfold tv_drf.users, tv_drf.position in *; simpl in *. pose proof (Lo O ltac:(lia)); pose proof (Lo 1%nat ltac:(lia)).
  destruct (B O ltac:(lia)) as [B0 C0], (B 1%nat ltac:(lia)) as [B1 C1].
  unfold tv_drf.submitted in C0, C1; simpl in C0, C1. pose proof (Qs O O ltac:(lia) ltac:(lia)) as Q0;
  pose proof (Qs 1%nat O ltac:(lia) ltac:(lia)) as Q1. rewrite !part_of in Q0, Q1 by (auto; lra).
  specialize (Qc O O ltac:(lia) ltac:(lia)). simpl in *. destruct i as [|[|i]]; try lia; lra. Qed.
Example a_lie : tv_drf_lies.lies (day 2) (day 3) 0 /\ forall s, 2 <= s -> tv_drf_lies.floor_alone (day s) (fun _ _ => 1/2 *
  1) 0 0 (fun r _ _ => match r with O => 1/2 * 1 | _ => 0 end) (fun _ _ => 1) (fun _ => 1).
Proof. split; [repeat split; auto; intros; simpl in *; destruct h; try reflexivity; destruct H; [tauto|lia]|].
  intros s S. split; [split; [auto|]|unfold tv_drf.position; simpl; minmax]. intros r R.
  assert (r = O) as -> by (simpl in R; lia). split.
  - unfold tv_drf.part, tv_drf.submitted; simpl. minmax.
  - intros k Kk. split; [lra|split; [exists O; split; [simpl; lia|simpl; lra]|intros j J; simpl; lra]]. Qed.
Example a_floor : forall s, 2 <= s -> ∀ i < 2, tv_drf_fair.least_with_it (day s) (fun _ _ => 0) (fun _ _ => 1/2)
  (tv_drf.lower (day s)) i.
Proof. intros s S i I. split; [simpl; lra|]. intros g G. unfold tv_drf_fair.as_much_as_alone, tv_drf_fair.by_now, tv_drf.used,
  tv_drf.position, tv_drf.part, tv_drf.submitted; simpl in *. split.
  - intros H; specialize (H O ltac:(lia)). destruct i; minmax.
  - intros L j _. destruct i; minmax. Qed.
(* One user with one task, which runs alone as well; it takes part, and its task runs. *)
Definition round := tv_drf_whole.Period 1 1 1 (fun _ _ => 1) (fun _ => 1%nat) (fun _ _ _ => 1) (fun _ _ => 0)
  (fun _ _ => 1) (fun _ x => Some (INR x)) (fun _ x => INR x).
Example round_is_a_model : tv_drf_whole.model round.
Proof. assert (ones : forall k, (Σ y < k, 1) = INR k) by (induction k; [auto|rewrite S_INR, <- IHk; auto]).
  split; unfold tv_drf_whole.load; simpl; intros; try lra; [|destruct x; simpl; lra].
  left; split; [exists O; split; [lia|split; [lra|]]|intros j _ _]; rewrite ones; unfold Rdiv; lra. Qed.
Example it_ends : tv_drf_whole.ends round (tv_drf_whole.one_more round tv_drf_whole.begin 0 0).
Proof. split; [|intros i [I [L _]]; simpl in *; destruct i; simpl in L; lia].
  apply (tv_drf_whole.after round tv_drf_whole.begin); [constructor|].
  apply tv_drf_whole.put; [|split; [simpl; lia|intros; simpl; lra]].
  assert (T : tv_drf_whole.takes_part round tv_drf_whole.begin 0) by (repeat split; simpl; lia).
  split; [auto|split; intros _ h [H _]; assert (h = O) as -> by (simpl in H; lia); simpl; lra]. Qed.
Example one_user_on_one_machine : let P := gdrf.Cell 1 1 1 (fun _ _ => 1) (fun _ => 1) (fun _ _ => 1) in
  gdrf.positive_demands P /\ gdrf.optimal P 1 (fun _ => 1).
Proof. split; [intros i; simpl; repeat split; try lra; exists O; split; [lia|auto]|split; [lra|split;
  [exists (fun _ _ => 1); repeat split; simpl; intros; lra|split; [intros; lra|]]]]. intros z M [x [_ [Xs Xc]]] Le.
  specialize (Xs O ltac:(simpl; lia)); specialize (Xc O O ltac:(simpl; lia) ltac:(simpl; lia));
  specialize (Le O ltac:(simpl; lia)). simpl in *; lra. Qed.
Example one_user_under_drfh : let P := gdrf.Cell 1 2 1 (fun _ _ => 1) (fun _ => 1) (fun _ j => match j with O => 1 | _ => 0 end) in
  drfh.demands P /\ drfh.fluid_drfh P (fun _ => None) (fun _ => 1).
Proof. intros P. assert (F : drfh.fits_bounds P (fun _ => None) (fun _ => 1)) by (split; [exists (fun _ _ => 1); repeat split;
  simpl; intros; try lra; destruct j; lra|intros; exact I]). split; [intros i _; simpl; split; [lra|split; [intros [|j]; lra|
  exists O; split; [lia|auto]]]|split; [auto|]]. apply lemmas.max_min_is_leximin; auto. intros y [[x [_ [Xs Xc]]] _] i H G.
  assert (i = O) as -> by (simpl in H; lia). specialize (Xs O ltac:(simpl; lia)). specialize (Xc O O ltac:(simpl; lia)
  ltac:(simpl; lia)). simpl in *. lra. Qed.
(* One user, who gets slot after slot *)
Definition alone := gdrf_queue.Queue 1 (fun _ => 1) (fun _ => None) (fun i => i).
Fixpoint taking t := match t with O => gdrf_queue.begin | S u => let s := taking u in
  gdrf_queue.State (gdrf_queue.one_more (gdrf_queue.slots s) 0) (gdrf_queue.vms s) (gdrf_queue.out s)
    (S (gdrf_queue.given s)) end.
Example slot_after_slot : gdrf_queue.model alone /\ gdrf_queue.run alone taking /\ gdrf_queue.all_active alone taking 5.
Proof. assert (In : forall t i, gdrf_queue.out (taking t) i = false) by (induction t; simpl; auto).
  assert (Ac : forall t i, (i < 1)%nat -> gdrf_queue.active alone (taking t) i) by (intros t i I; split; [auto|split;
  [apply In|simpl; tauto]]). split; [split; simpl; intros; [lra|auto]|split; [split; [auto|]|intros t _ i I; apply Ac;
  auto]]. intros t; simpl. apply gdrf_queue.slot. split; [apply Ac; lia|]. intros h [H _].
  assert (h = O) as -> by (simpl in H; lia). right; auto. Qed.
(* Two users with a half each *)
Definition halves := one_level.Pool 2 1 (fun _ => 1) (fun _ => 0) (fun _ => Some 1).
Example half_each : one_level.model halves /\ one_level.cluster halves /\ one_level.pool_level halves (1/2) /\
  one_level.level halves (1/2).
Proof. assert (at_ : forall z i, 0 <= z <= 1 -> one_level.at_level halves z i = z) by (intros z i Z;
  unfold one_level.at_level; simpl; rewrite Rmax_left, Rmin_left; lra).
  assert (us : forall z, 0 <= z <= 1 -> one_level.used halves (one_level.at_level halves z) = 2 * z) by (intros z Z;
  unfold one_level.used; simpl; rewrite !at_ by auto; lra). assert (M : one_level.model halves) by (split; [intros i;
  split; unfold one_level.up_to; simpl; lra|unfold one_level.used; simpl; lra]).
  assert (Cl : one_level.cluster halves) by (intros i; auto). assert (Pl : one_level.pool_level halves (1/2)) by (split;
  [lra|split; [rewrite us; simpl; lra|intros z L G; rewrite us; simpl; lra]]).
  split; [auto|split; [auto|split; [auto|apply one_level.is_level; auto]]]. Qed.
(* One user, whose one task fills the pool *)
Definition filled := whole_tasks.Pool 1 1 (fun _ => 1) (fun _ => 1) (fun _ _ => 1) (fun _ => 1) (fun _ => None).
Example one_task : whole_tasks.model filled /\ (forall t, whole_tasks.run filled t (fun k => match k with O => fun _ =>
  O | S _ => whole_tasks.one_more (fun _ => O) 0 end) 1) /\ whole_tasks.stop filled (fun k => match k with O => fun _ =>
  O | S _ => whole_tasks.one_more (fun _ => O) 0 end) 1.
Proof. split; [split; simpl; intros; try lra; repeat split; try lra; exists O; split; [lia|lra]|split; [intros t|]];
  (split; [auto|]).
  - split.
    + intros k K. assert (k = O) as -> by lia. exists O. split; [|auto].
      split; [|intros h [H _]; assert (h = O) as -> by (simpl in H; lia); lra].
      split; [simpl; lia|split; [exact I|intros j _; unfold whole_tasks.load; simpl; lra]].
    + intros i [H [_ F]]. assert (i = O) as -> by (simpl in H; lia). specialize (F O ltac:(simpl; lia)).
      unfold whole_tasks.load in F; simpl in F. lra.
  - intros k K. assert (k = O) as -> by lia. exists O. split; [|auto].
    split; [simpl; lia|split; [auto|intros h H _; assert (h = O) as -> by (simpl in H; lia); lra]]. Qed.

Module Turns.
Import gdrf_queue.
(* two users, 1 and 3: a slot each, both VMs are placed; then the first has both slots of round 2 *)
Definition two := Queue 2 (fun i => match i with O => 1 | _ => 3 end) (fun _ => None) (fun i => i).
Definition acts (t : nat) := match t with O => (0,0,0,0) | 1 => (1,0,0,0) | 2 => (1,1,0,0) | 3 => (1,1,1,0) |
  4 => (1,1,1,1) | 5 => (2,1,1,1) | _ => (3,1,1,1) end%nat.
Definition day t := match t with O => begin | _ => let '(x, y, v, z) := acts t in State (match t with 1%nat => one_more
  (fun _ => O) 0 | 2%nat|3%nat|4%nat => one_more (one_more (fun _ => O) 0) 1 | 5%nat => one_more (one_more (one_more
  (fun _ => O) 0) 1) 0 | _ => one_more (one_more (one_more (one_more (fun _ => O) 0) 1) 0) 0 end)
  (match t with 1%nat | 2%nat => (fun _ => O) | 3%nat => one_more (fun _ => O) 0 | _ => one_more (one_more (fun _ => O)
    0) 1 end) (fun _ => false) (x + y)%nat end.
Example two_is_a_model : model two. Proof. split; [intros [|i]; simpl; lra|simpl; auto]. Qed.
Lemma in_ t i : (i < 2)%nat -> active two (day t) i.
Proof. intros I. split; [auto|split; [|unfold served; simpl; tauto]]. do 6 (destruct t as [|t]; [reflexivity|]).
  reflexivity. Qed.
Example two_run : run two day.
Proof. split; [reflexivity|]. intros t. assert (tu : ∀ i < 2, (∀ h < 2, con two (day t) i < con two (day t)
  h \/ con two (day t) i = con two (day t) h /\ (i <= h)%nat) -> turn two (day t) i).
  { intros i I H. split; [apply in_; auto|]. intros h [Hh _]. apply H; auto. } destruct t as [|[|[|[|[|[|t]]]]]].
  - apply (slot two (day 0) 0). apply tu; [lia|]. intros [|[|h]] H; [..|lia]; unfold con; simpl; right; split; try lra;
    lia.
  - apply (slot two (day 1) 1). apply tu; [lia|]. intros [|[|h]] H; [..|lia]; unfold con; simpl; [left; lra|right;
    split; [lra|lia]].
  - apply (place two (day 2) 0); simpl; auto.
  - apply (place two (day 3) 1); simpl; auto.
  - apply (slot two (day 4) 0). apply tu; [lia|]. intros [|[|h]] H; [..|lia]; unfold con; simpl; [right; split;
    [lra|lia]|left; lra].
  - apply (slot two (day 5) 0). apply tu; [lia|]. intros [|[|h]] H; [..|lia]; unfold con; simpl; [right; split;
    [lra|lia]|left; lra].
  - apply rest. Qed.
Example not_longer_hyps : a two 0%nat = 1 /\ a two 1%nat = 1 + 2 /\ 1 + 1 / 2 < INR (S 1) /\
  all_active two day (2 * 2) /\ (forall v i, given (day v) = (2 * 1)%nat -> (i < 2)%nat ->
  slots (day v) i = 1%nat) /\ given (day 6) = (2 * 2)%nat.
Proof. split; [reflexivity|split; [simpl; lra|split; [simpl; lra|split; [intros t _ i I; apply in_; auto|split;
  [|reflexivity]]]]]. intros v k E K. do 6 (destruct v as [|v]; [simpl in E; try lia; destruct k as [|[|k]]; simpl;
  try reflexivity; lia|]). simpl in E; lia. Qed.
Example envy_hyps : round_ends (day 4) /\ (0 < vms (day 4) 1)%nat /\ vms (day 6) 1 = vms (day 4) 1.
Proof. split; [intros [|[|k]] _; reflexivity|split; [vm_compute; lia|reflexivity]]. Qed.
End Turns.
(* If nobody states a floor in the two halves, the level is a half. *)
Example no_floors : virtual_cluster.proper (virtual_cluster.Tariff 1 2) /\
  virtual_cluster.leaves halves (fun _ => 0) 0 (1/2) /\ virtual_cluster.last halves 0.
Proof. destruct half_each as [M [Cl [Pl _]]]. split; [unfold virtual_cluster.proper; simpl; lra|split].
  - split; [auto|split; [intros; simpl; lra|split; [intros i; lra|split; [simpl; lia|]]]].
    replace (virtual_cluster.stated halves (virtual_cluster.instead (fun _ => 0) 0 0)) with halves; [auto|].
    unfold virtual_cluster.stated, halves. f_equal. apply FunctionalExtensionality.functional_extensionality. intros h.
    unfold virtual_cluster.instead. simpl. destruct (Nat.eqb h 0); auto.
  - split; [intros; lia|]. intros [[i [_ [_ Q]]] _]. unfold virtual_cluster.tau, virtual_cluster.room in Q. simpl in Q. lra. Qed.
(* Two users want one VM each, and there is one. *)
Definition one_vm := virtual_cluster_whole.Cluster 2 1 (fun _ => 1%nat) (fun _ => 0%nat).
Example a_run_of_one : virtual_cluster_whole.model one_vm /\ virtual_cluster_whole.run one_vm (virtual_cluster_whole.smallest
  one_vm) (fun k => match k with O => fun _ => O | S _ => virtual_cluster_whole.one_more (fun _ => O) 0 end) 1.
Proof. assert (F : forall i, virtual_cluster_whole.fraction one_vm (fun _ => O) i = 0) by (intros; unfold
  virtual_cluster_whole.fraction; simpl; lra). split; [split; [intros; simpl; lia|split]|split; [auto|split]].
  - split; [intros i _; simpl; lia|unfold virtual_cluster_whole.total; simpl; lra].
  - unfold virtual_cluster_whole.total; simpl; lra.
  - intros k K. assert (k = O) as -> by lia. exists O. split; [|auto]. split; [split; [split; simpl; lia|]|]; intros h _;
    [rewrite !F; lra|simpl; lia].
  - unfold virtual_cluster_whole.total; simpl; lra. Qed.
Example two_bins : virtual_cluster_whole.proper (virtual_cluster_whole.Packing 2 2 (fun _ => 1) (fun _ => 1)).
Proof. repeat split; simpl; intros; lra || lia. Qed.
