(* One divisible resource: everybody rises to one level, each between two limits of its own. *)
From proofs Require Import sums lemmas.
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
Ltac innermost := match goal with H : context [Rle_dec ?x ?y] |- _ => lazymatch constr:((x, y)) with context [Rle_dec]
  => fail | _ => idtac end; destruct (Rle_dec x y) | |- context [Rle_dec ?x ?y] => lazymatch constr:((x, y))
  with context [Rle_dec] => fail | _ => idtac end; destruct (Rle_dec x y) end.
Ltac limits := unfold at_level, up_to, Rmin, Rmax in *; repeat innermost; try lra.
Lemma between P L i : model P -> lo P i <= at_level P L i /\ up_to P i (at_level P L i).
Proof. intros [M _]. destruct (M i) as [_ U]. unfold at_level, up_to in *. destruct (up P i) as [b|]; limits. Qed.
Lemma slowly P L e i : 0 < e -> at_level P (L + e) i <= at_level P L i + e.
Proof. intros E. unfold at_level. destruct (up P i) as [b|]; limits. Qed.
Lemma mono P y z i : y <= z -> at_level P y i <= at_level P z i.
Proof. intros L. unfold at_level. destruct (up P i); limits. Qed.
Lemma used_mono P y z : model P -> y <= z -> used P (at_level P y) <= used P (at_level P z).
Proof. intros M L. apply sum_le; intros i _. apply Rmult_le_compat_l; [apply Rlt_le, M|apply mono; auto]. Qed.
Lemma used_slowly P L e : model P -> 0 < e -> used P (at_level P (L + e)) <= used P (at_level P L) + sum (n P) (w P) *
  e.
Proof. intros M E. unfold used. rewrite <- sum_mul, <- sum_plus. apply sum_le; intros i _.
  pose proof (slowly P L e i E). pose proof (proj1 (proj1 M i)). nra. Qed.
Lemma highest k (f : nat -> R) : exists x, ∀ i < k, f i <= x.
Proof. induction k as [|k [x H]]; [exists 0; lia|]. exists (Rmax x (f k)). intros i I.
  destruct (Nat.eq_dec i k) as [->|]; [apply Rmax_r|apply Rle_trans with x; [apply H; lia|apply Rmax_l]]. Qed.
(* {thm-one_level} *)
Theorem there_is_a_level P : model P -> exists L, level P L.
Proof. intros M. assert (W : 0 <= sum (n P) (w P)) by (apply sum_ge0; intros i _; apply Rlt_le, M).
  destruct (highest (n P) (fun i => match up P i with Some b => b | None => 0 end)) as [B HB].
  destruct (highest (n P) (fun i => - lo P i)) as [A HA]. assert (top : (exists Z, C P < used P (at_level P Z))
  \/ exists L, level P L).
  { assert (D : (∃ i < n P, up P i = None) \/ ∀ i < n P, up P i <> None).
    { generalize (n P). intros q; induction q as [|k [[i [I E]]|N]]; [right; lia|left; exists i; split; [lia|auto]|].
    destruct (up P k) eqn:E; [right; intros i I; destruct (Nat.eq_dec i k) as [->|]; [congruence|apply N; lia]|left;
    exists k; auto]. } destruct D as [[i [I E]]|N].
    - left. pose proof (proj1 (proj1 M i)) as Wi. set (g := (C P - used P (lo P) + 1) / w P i).
      assert (G : 0 < g) by (apply Rdiv_lt_0_compat; [pose proof (proj2 M); lra|auto]).
      assert (Eg : w P i * g = C P - used P (lo P) + 1) by (unfold g; field; lra). exists (lo P i + g).
      pose proof (sum_gap (n P) (fun h => w P h * lo P h) (fun h => w P h * at_level P (lo P i + g) h) i (w P i * g))
      as Q. assert (sum (n P) (fun h => w P h * lo P h) <= sum (n P) (fun h => w P h * at_level P (lo P i + g) h)
      - w P i * g); [|unfold used in *; lra]. apply Q; [intros h _; apply Rmult_le_compat_l;
      [apply Rlt_le, M|apply between; auto]|auto|]. unfold at_level. rewrite E, Rmax_left by lra. lra.
    - assert (All : ∀ i < n P, up P i = Some (at_level P B i)).
      { intros i I. specialize (N i I); specialize (HB i I). pose proof (proj2 (proj1 M i)) as U.
        unfold at_level, up_to in *. destruct (up P i) as [b|]; [|tauto]. f_equal. limits. }
      destruct (Rle_lt_dec (used P (at_level P B)) (C P)); [right; exists B; split; auto|left; exists B; auto]. }
  destruct top as [[Z HZ]|]; [|auto]. destruct (completeness (fun z => used P (at_level P z) <= C P)) as [L [Ub Lub]].
  { exists Z. intros z Hz. suppose G. pose proof (used_mono P Z z M ltac:(lra)). lra. } { exists (- A).
  replace (used P (at_level P (- A))) with (used P (lo P)); [apply M|]. apply sum_ext; intros i I. f_equal.
  specialize (HA i I). pose proof (proj2 (proj1 M i)) as U. unfold at_level, up_to in *. destruct (up P i); limits. }
  exists L. split.
  - suppose G. set (e := (used P (at_level P L) - C P) / (sum (n P) (w P) + 1)).
    assert (E : 0 < e) by (apply Rdiv_lt_0_compat; lra). assert (Ee : e * (sum (n P) (w P) + 1) = used P (at_level P L)
    - C P) by (unfold e; field; lra). assert (L <= L - e); [|lra]. apply Lub. intros z Hz. suppose Gz.
    pose proof (used_mono P (L - e) z M ltac:(lra)). pose proof (used_slowly P (L - e) e M E) as Q.
    replace (L - e + e) with L in Q by ring. nra.
  - left. intros z Lz. destruct (Rle_lt_dec (used P (at_level P z)) (C P)) as [F|]; [specialize (Ub z F); lra|auto].
    Qed.
(* {thm-one_level} {lem-virtual_cluster-share} Nothing is left unless all users are at their upper limits. *)
Theorem all_handed_out P L : model P -> level P L -> used P (at_level P L) = C P \/ ∀ i < n P, up P i = Some (at_level P
  L i).
Proof. intros M [F [Hi|All]]; [left|auto]. destruct (Rle_lt_or_eq_dec _ _ F) as [less|]; [exfalso|auto].
  assert (W : 0 <= sum (n P) (w P)) by (apply sum_ge0; intros i _; apply Rlt_le, M).
  set (e := (C P - used P (at_level P L)) / (sum (n P) (w P) + 1)). assert (E : 0 < e) by (apply Rdiv_lt_0_compat; lra).
  assert (Ee : e * (sum (n P) (w P) + 1) = C P - used P (at_level P L)) by (unfold e; field; lra).
  pose proof (used_slowly P L e M E). specialize (Hi (L + e) ltac:(lra)). nra. Qed.
Lemma one_level_max_min P L : model P -> level P L -> max_min (n P) (allowed P) (at_level P L).
Proof. intros M Le y' [B' U'] i I G. destruct (all_handed_out P L M Le) as [Full|All].
  - destruct (exchange (n P) (fun h => w P h * y' h) (fun h => w P h * at_level P L h) i) as [h [H [_ Lt]]]; auto.
    { unfold used in *; lra. } { apply Rmult_lt_compat_l; [apply M|auto]. }
    apply factor in Lt as [_ Lt]; [|apply Rlt_le, M]. exists h. split; [auto|split; [auto|]].
    destruct (B' h H) as [Lh _], (B' i I) as [_ Ui]. unfold at_level, up_to in *. destruct (up P h), (up P i); limits.
  - destruct (B' i I) as [_ Ui]. unfold up_to in Ui. rewrite (All i I) in Ui. lra. Qed.
(* {thm-one_level} *)
Theorem one_level P L : model P -> level P L -> allowed P (at_level P L) /\ lexicographically_max_min (n P) (allowed P)
  (at_level P L) /\ forall y, allowed P y -> lexicographically_max_min (n P) (allowed P) y ->
  ∀ i < n P, y i = at_level P L i.
Proof. intros M Le. assert (A : allowed P (at_level P L)) by (split; [intros i _; apply between; auto|apply Le]).
  assert (Mm := one_level_max_min P L M Le). split; [auto|split; [apply max_min_is_leximin; auto|]]. intros y Ay Ly i I.
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
