(* One divisible resource: everybody rises to one level, each between two limits of its own. *)
From proofs Require Import sums lemmas.
From proofs Require filling.
Local Open Scope R_scope.
(* {model} *)
(* n users share C of one resource. User i has w i times its level, which lies between lo i and up i (None: no limit).
   *)
Record pool := Pool { n : nat; C : R; w : nat -> R; lo : nat -> R; up : nat -> option R }.
Definition up_to P i z := match up P i with Some b => z <= b | None => True end.
Definition used P y := Σ i < n P, w P i * y i.
Definition allowed P y := (∀ i < n P, lo P i <= y i /\ up_to P i (y i)) /\ used P y <= C P.
Definition model P := (forall i, 0 < w P i /\ up_to P i (lo P i)) /\ used P (lo P) <= C P.
Definition at_level P L i := match up P i with Some b => Rmin (Rmax L (lo P i)) b | None => Rmax L (lo P i) end.
(* L is the largest level that fits; or all fit, and it is one at which all are at their upper limits. *)
Definition level P L := used P (at_level P L) <= C P /\
  ((forall z, L < z -> C P < used P (at_level P z)) \/ ∀ i < n P, up P i = Some (at_level P L i)).
(* A cluster of virtual machines: w are the wishes, lo the floors, and nobody has more than it wishes. *)
Definition cluster P := forall i, up P i = Some 1.
(* {end} *)
Ltac limits := unfold at_level, up_to in *; filling.limits.
(* It is a filling with one resource. *)
Definition to_fill P := filling.Pool (n P) 1 (fun i _ => w P i) (lo P) (up P) (fun _ => C P - used P (lo P)).
Definition water P := filling.State 0 (fun _ => true) (lo P).
Lemma filled_model P : model P -> filling.model (to_fill P).
Proof. intros [M U]; split; simpl; [intros; apply Rlt_le, M|intros; apply M|intros; lra|]. intros i _; right.
  exists O; split; [lia|apply M]. Qed.
Lemma filled_used P y j : filling.used (to_fill P) y j = used P y - used P (lo P).
Proof. unfold filling.used, used; simpl. pose proof (sum_plus (n P) (fun i => w P i * (y i - lo P i))
  (fun i => w P i * lo P i)) as E. simpl in E. rewrite <- (sum_ext (n P) (fun i => w P i * y i)) in E; [lra|].
  intros; ring. Qed.
Lemma filled_fits P z : filling.fits (to_fill P) (water P) z <-> used P (at_level P z) <= C P.
Proof. unfold filling.fits; simpl. split; intros F; [specialize (F O ltac:(lia))|intros j _]; rewrite filled_used in *;
  change (filling.raised (to_fill P) (water P) z) with (at_level P z) in *; lra. Qed.
Lemma filled_allowed P y : filling.allowed (to_fill P) y <-> allowed P y.
Proof. unfold filling.allowed, allowed; simpl. split; intros [A B]; (split; [exact A|]);
  [specialize (B O ltac:(lia))|intros j _]; rewrite filled_used in *; lra. Qed.
Lemma between P L i : model P -> lo P i <= at_level P L i /\ up_to P i (at_level P L i).
Proof. intros [M _]. apply (filling.between (to_fill P)), M. Qed.
(* {thm-one_level} *)
Theorem there_is_a_level P : model P -> exists L, level P L.
Proof. intros M. destruct (highest (n P) (fun i => - lo P i)) as [A HA].
  destruct (filling.highest_level (to_fill P) (water P) (- A)) as [L [_ [F Top]]]; [apply filled_model;
  auto|simpl; intros; lra| |].
  { apply filled_fits. replace (used P (at_level P (- A))) with (used P (lo P)); [apply M|]. apply sum_ext; intros i I.
    f_equal. specialize (HA i I). pose proof (proj2 (proj1 M i)) as U. limits; destruct (up P i); limits. }
  exists L. split; [apply filled_fits; auto|]. destruct Top as [Top|All]; [left|right; intros i I; apply All; auto].
  intros z Z. suppose G. apply filled_fits in G. specialize (Top z G). lra. Qed.
(* {thm-one_level} {lem-virtual_cluster-share} Nothing is left unless all users are at their upper limits. *)
Theorem all_handed_out P L : model P -> level P L -> used P (at_level P L) = C P \/ ∀ i < n P, up P i = Some (at_level P
  L i).
Proof. intros M [F [Hi|All]]; [left|auto]. destruct (filling.used_up (to_fill P) (water P) L) as [i [_ [_ [j [_ [U _]]]]]];
  [apply filled_model; auto|apply filled_fits; auto|intros z Z; suppose G; specialize (Hi z G); apply filled_fits in Z;
  lra|]. rewrite filled_used in U. change (filling.raised (to_fill P) (water P) L) with (at_level P L) in U. simpl in U.
  lra. Qed.
(* its stops are the certificate *)
Lemma one_level_certified P L : model P -> level P L -> filling.certified (to_fill P) (at_level P L).
Proof. intros M Le i I. destruct (all_handed_out P L M Le) as [Full|All]; [|left; apply All; auto].
  destruct (Rlt_le_dec (at_level P L i) L) as [G|G]; [left; simpl|right; exists O].
  - pose proof (proj2 (proj1 M i)). limits; destruct (up P i); limits; f_equal; lra.
  - split; [simpl; lia|split; [rewrite filled_used; simpl; lra|split; [apply M|]]]. intros h _ _ H; simpl in H.
    apply Rle_trans with (2 := G). limits; destruct (up P h); limits. Qed.
(* {thm-one_level} *)
Theorem one_level P L : model P -> level P L -> allowed P (at_level P L) /\ lexicographically_max_min (n P) (allowed P)
  (at_level P L) /\ forall y, allowed P y -> lexicographically_max_min (n P) (allowed P) y ->
  ∀ i < n P, y i = at_level P L i.
Proof. intros M Le. assert (A : allowed P (at_level P L)) by (split; [intros i _; apply between; auto|apply Le]).
  assert (Mm : max_min (n P) (allowed P) (at_level P L)).
  { intros y Ay. apply (filling.certified_max_min (to_fill P)); [apply filled_model; auto|apply one_level_certified;
    auto|apply filled_allowed; auto]. } split; [auto|split; [apply max_min_is_leximin; auto|]]. intros y Ay Ly i I.
  symmetry. apply (only_one (n P) (allowed P)); auto. Qed.
(* {lem-virtual_cluster-share} Part 1: any other allocation has a smaller least fraction. *)
Theorem largest_least_fraction P L y i : model P -> cluster P -> level P L -> C P < sum (n P) (w P) -> allowed P y ->
  (i < n P)%nat -> y i <> at_level P L i -> (forall h, at_level P L h = Rmax L (lo P h)) /\ ∃ h < n P, y h < L.
Proof. intros M Cl Le Sc Ay I D. assert (Few : ~ ∀ h < n P, up P h = Some (at_level P L h)).
  { intros All. destruct Le as [F _]. assert (used P (at_level P L) = sum (n P) (w P)); [|lra].
    apply sum_ext; intros h H. specialize (All h H). rewrite (Cl h) in All. injection All as <-. lra. }
  assert (L1 : L < 1). { suppose G. apply Few; intros h _. rewrite (Cl h). f_equal. unfold at_level. rewrite (Cl h).
  pose proof (proj2 (proj1 M h)) as U. unfold up_to in U. rewrite (Cl h) in U. limits. }
  split; [intros h; pose proof (proj2 (proj1 M h)) as U; unfold at_level, up_to in *; rewrite (Cl h) in *; limits|].
  destruct (all_handed_out P L M Le) as [Full|All]; [|tauto]. destruct Ay as [B U].
  assert (Y : ∃ h < n P, y h < at_level P L h). { destruct (Rtotal_order (y i) (at_level P L i)) as [lt|[|gt]];
  [exists i; auto|tauto|]. destruct (exchange (n P) (fun h => w P h * y h) (fun h => w P h * at_level P L h) i)
  as [h [H [_ Lt]]]; auto; [unfold used in *; lra|apply Rmult_lt_compat_l; [apply M|auto]|].
  apply factor in Lt as [_ Lt]; [|apply Rlt_le, M]. exists h; auto. } destruct Y as [h [H Lt]]. exists h.
  split; [auto|]. destruct (B h H) as [Lh _]. unfold at_level in Lt. rewrite (Cl h) in Lt. limits. Qed.
(* ------------------------------------------------------------------- virtual clusters on one pool, divisible VMs *)
(* {model} *)
(* A VM is a unit of the pool, so used P y is the number of VMs that users with the fractions y have. Y: the pool level.
   *)
Definition wanted P := sum (n P) (w P).
Definition scarcity P := C P / wanted P.
Definition pool_level P Y := Y <= 1 /\ used P (at_level P Y) <= C P /\ forall z, Y < z -> z <= 1 ->
  C P < used P (at_level P z).
(* {end} *)
Lemma is_level P Y : cluster P -> pool_level P Y -> level P Y.
Proof. intros Cl [Y1 [F Hi]]. split; [auto|]. destruct (Rlt_le_dec Y 1) as [L|G]; [left|right].
  - intros z Z. destruct (Rle_lt_dec z 1) as [z1|g1]; [auto|]. replace (used P (at_level P z))
    with (used P (at_level P 1)); [apply Hi; lra|]. apply sum_ext; intros i _. f_equal. unfold at_level. rewrite (Cl i).
    limits.
  - intros i _. rewrite (Cl i). f_equal. unfold at_level. rewrite (Cl i). limits. Qed.
Lemma fraction P Y i : model P -> cluster P -> pool_level P Y -> at_level P Y i = Rmax (lo P i) Y.
Proof. intros M Cl [Y1 _]. pose proof (proj2 (proj1 M i)) as U. unfold at_level, up_to in *. rewrite (Cl i) in *.
  limits. Qed.
Lemma below_scarcity P Y : model P -> cluster P -> pool_level P Y -> 0 < wanted P -> Y <= scarcity P.
Proof. intros M Cl Pl W. assert (Y * wanted P <= C P). { apply Rle_trans with (2 := proj1 (proj2 Pl)).
  unfold wanted, used. rewrite Rmult_comm, <- sum_mul. apply sum_le; intros i _. rewrite fraction by auto.
  pose proof (proj1 (proj1 M i)). pose proof (Rmax_r (lo P i) Y). nra. }
  unfold scarcity. apply Rmult_le_reg_r with (wanted P); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma enough_for_all P Y : model P -> cluster P -> pool_level P Y -> wanted P <= C P -> Y = 1.
Proof. intros M Cl Pl E. destruct Pl as [Y1 [F Hi]]. destruct (Rle_lt_or_eq_dec _ _ Y1) as [L|]; [exfalso|auto].
  specialize (Hi 1 L ltac:(lra)). assert (used P (at_level P 1) = wanted P); [|lra]. apply sum_ext; intros i _.
  unfold at_level. rewrite (Cl i). pose proof (proj2 (proj1 M i)) as U. unfold up_to in U. rewrite (Cl i) in U.
  replace (Rmin (Rmax 1 (lo P i)) 1) with 1 by limits. lra. Qed.
(* {prop-virtual_cluster-corollary2} *)
Theorem corollary_2 P Y i : model P -> cluster P -> pool_level P Y -> 0 < wanted P -> lo P i <= scarcity P ->
  at_level P Y i <= scarcity P /\ (lo P i < at_level P Y i <-> lo P i < Y).
Proof. intros M Cl Pl W L. pose proof (below_scarcity P Y M Cl Pl W). rewrite fraction by auto.
  split; [apply Rmax_lub; auto|split; intros; limits]. Qed.
(* {prop-virtual_cluster-tolerance} The mean floor is bar. *)
Theorem what_tolerance_costs P Y bar : model P -> cluster P -> pool_level P Y -> 0 < wanted P ->
  (forall i, 0 <= lo P i) -> (Σ i < n P, w P i * lo P i) = bar * wanted P ->
  (forall i, at_level P Y i = Rmax (lo P i) Y) /\ (bar < 1 -> scarcity P <= 1 ->
  (scarcity P - bar) / (1 - bar) <= Y <= scarcity P) /\ (1 <= scarcity P -> Y = 1).
Proof. intros M Cl Pl W F0 B. assert (T : scarcity P * wanted P = C P) by (unfold scarcity; field; lra).
  split; [intros; apply fraction; auto|split; [intros B1 S; split; [|apply below_scarcity; auto]|intros S;
  apply (enough_for_all P Y M Cl Pl); rewrite <- T; nra]]. assert (Full : used P (at_level P Y) = C P).
  { destruct (all_handed_out P Y M (is_level P Y Cl Pl)) as [|All]; [auto|].
  assert (used P (at_level P Y) = wanted P); [|pose proof (proj1 (proj2 Pl)); nra]. apply sum_ext; intros i I.
  specialize (All i I). rewrite (Cl i) in All. injection All as <-. lra. } assert (Y0 : 0 <= Y).
  { suppose L. assert (used P (at_level P 0) = used P (lo P)); [|pose proof (proj2 (proj2 Pl) 0 L ltac:(lra));
    pose proof (proj2 M); lra]. apply sum_ext; intros i _. f_equal. pose proof (proj2 (proj1 M i)) as U.
    specialize (F0 i). unfold at_level, up_to in *. rewrite (Cl i) in *. limits. }
  assert (Up : C P <= Y * wanted P + (1 - Y) * (bar * wanted P)).
  { rewrite <- Full, <- B. unfold wanted, used. rewrite Rmult_comm, (Rmult_comm (1 - Y)), <- !sum_mul, <- sum_plus.
    apply sum_le; intros i _. rewrite fraction by auto. pose proof (proj1 (proj1 M i)).
    pose proof (proj2 (proj1 M i)) as U. unfold up_to in U. rewrite (Cl i) in U. destruct Pl as [Y1 _].
    specialize (F0 i). unfold Rmax. destruct (Rle_dec (lo P i) Y); [assert (0 <= lo P i * (1 - Y)) by
    (apply Rmult_le_pos; lra)|assert (0 <= Y * (1 - lo P i)) by (apply Rmult_le_pos; lra)]; nra. }
  rewrite <- T in Up. assert (scarcity P <= Y + (1 - Y) * bar) by (apply Rmult_le_reg_r with (wanted P); auto; lra).
  apply Rmult_le_reg_r with (1 - bar); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
(* {whole} thm-one_level prop-virtual_cluster-corollary2 prop-virtual_cluster-tolerance *)
