(* GDRF: the measures of machines and users. *)
From proofs Require Import sums.
Local Open Scope R_scope.
(* {model} *)
(* A vector v of m resources: its amount; its largest entry and its sum as parts of the cell S. *)
Definition amount m (v : nat -> R) := Σ r < m, v r.
Definition largest m (v : nat -> R) x := (∃ r < m, v r = x) /\ ∀ r < m, v r <= x.

(* A machine of size c, of which o is in use: (3) the part in use of a resource, (4) its weight, (5) their sum *)
Definition utilisation (c o : nat -> R) r := if Req_EM_T (c r) 0 then 0 else o r / c r.
Definition total_utilisation m c o := Σ r < m, c r / amount m c * utilisation c o r.

(* A user: parts mu of the cell that a VM takes, mu* the largest of them; its weight (6) *)
Definition gdrw m (mu : nat -> R) top := Σ r < m, mu r / top.

(* What a VM counts: its amount, its dominant share, the sum of its shares *)
Inductive reading := Amount | DominantShare | Shares.
Definition counts (how : reading) m (S d : nat -> R) x := match how with
  | Amount => x = amount m d
  | DominantShare => largest m (fun r => d r / S r) x
  | Shares => x = Σ r < m, d r / S r end.
(* {end} *)

(* {lem-gdrf-utilisation} The value is the fraction of the amount that is in use; it lies between 0 and 1, and the
   ends are characterised. *)
Theorem part_in_use m c o : (∀ r < m, 0 <= o r <= c r) -> (∃ r < m, 0 < c r) ->
  total_utilisation m c o = amount m o / amount m c /\ 0 <= total_utilisation m c o <= 1 /\
  (total_utilisation m c o = 0 <-> ∀ r < m, o r = 0) /\ (total_utilisation m c o = 1 <-> ∀ r < m, o r = c r).
Proof. intros O S. assert (C : 0 < amount m c) by (destruct S as [k [Kk G]]; apply sum_gt0 with k; auto; intros r R;
  specialize (O r R); lra). assert (inv : 0 < / amount m c) by (apply Rinv_0_lt_compat; auto).
  assert (E : total_utilisation m c o = amount m o / amount m c). { unfold total_utilisation.
  transitivity (Σ r < m, o r * / amount m c); [|rewrite sum_mul; auto]. apply sum_ext; intros r R; unfold utilisation.
  specialize (O r R). destruct (Req_EM_T (c r) 0) as [Z|Z]; [|field; lra]. assert (o r = 0) as -> by lra. lra. }
  assert (O0 : 0 <= amount m o) by (apply sum_ge0; intros r R; apply (O r R)).
  assert (Oc : amount m o <= amount m c) by (apply sum_le; intros r R; apply (O r R)).
  rewrite E. split; [auto|split; [|split]].
  - unfold Rdiv; split; [apply Rmult_le_pos; lra|]. apply Rmult_le_reg_r with (amount m c); auto.
    rewrite Rmult_assoc, Rinv_l; lra.
  - split; intros H.
    + intros r R. destruct (Rle_lt_or_eq_dec 0 (o r)) as [G|]; [apply (O r R)| |auto]. exfalso.
      assert (0 < amount m o) by (apply sum_gt0 with r; auto; intros h Hh; apply (O h Hh)). unfold Rdiv in H. nra.
    + assert (amount m o = 0) as -> by (apply sum_zero; auto). unfold Rdiv; lra.
  - split; intros H.
    + intros r R. destruct (Rle_lt_or_eq_dec (o r) (c r)) as [G|]; [apply (O r R)| |auto]. exfalso.
      assert (L : amount m o < amount m c) by (apply sum_lt with r; auto; intros h Hh; apply (O h Hh)).
      assert (amount m o / amount m c * amount m c = amount m o) by (field; lra). rewrite H in *. lra.
    + assert (amount m o = amount m c) as -> by (apply sum_ext; auto). field; lra. Qed.
(* {lem-gdrf-utilisation} The same amount is a larger fraction of a smaller capacity. *)
Theorem scarcer_is_fuller o c c' : 0 < o -> 0 < c < c' -> o / c' < o / c.
Proof. intros O C; unfold Rdiv; apply Rmult_lt_compat_l; auto. apply Rinv_lt_contravar; [nra|lra]. Qed.
(* {lem-gdrf-weight} *)
Theorem range_of_gdrw m mu top : (∀ r < m, 0 <= mu r) -> largest m mu top -> 0 < top ->
  1 <= gdrw m mu top <= INR m /\ (forall z, 0 < z -> gdrw m (fun r => z * mu r) (z * top) = gdrw m mu top).
Proof. intros N [[k [K E]] L] T. assert (inv : 0 < / top) by (apply Rinv_0_lt_compat; auto). split; [split|].
  - replace 1 with (mu k / top) by (rewrite E; field; lra). apply (sum_term m (fun r => mu r / top)); auto.
    intros r R; apply Rmult_le_pos; [apply N; auto|lra].
  - assert (H : forall n, (Σ r < n, 1) = INR n) by (induction n; [auto|rewrite S_INR, <- IHn; auto]). rewrite <- H.
    apply sum_le; intros r R; specialize (L r R). apply Rmult_le_reg_r with top; auto.
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
  - intros z Z; apply sum_ext; intros r R; field; lra. Qed.
(* {lem-gdrf-weight} Part 2, for users with the same dominant share *)
Theorem larger_weight_larger_sum m mu nu top : 0 < top ->
  (gdrw m mu top < gdrw m nu top <-> (Σ r < m, mu r) < Σ r < m, nu r).
Proof. intros T. assert (inv : 0 < / top) by (apply Rinv_0_lt_compat; auto).
  assert (H : forall v, gdrw m v top = (Σ r < m, v r) * / top) by (intros v; unfold gdrw, Rdiv; rewrite sum_mul; auto).
  rewrite !H. split; intros L; [apply Rmult_lt_reg_r with (/ top)|apply Rmult_lt_compat_r]; auto. Qed.
Lemma in_terms how m S d d' x x' y z : (∀ r < m, 0 < S r) -> counts how m S d x -> counts how m S d' x' -> 0 <= y ->
  (∀ r < m, z * d r <= y * d' r) -> z * x <= y * x'.
Proof. intros Sp C C' Y F. assert (inv : ∀ r < m, 0 < / S r) by (intros r R; apply Rinv_0_lt_compat; auto).
  assert (part : ∀ r < m, d r / S r * z <= d' r / S r * y) by (intros r R; specialize (F r R); specialize (inv r R);
  unfold Rdiv; nra). destruct how; simpl in *.
  - rewrite C, C'. unfold amount. rewrite Rmult_comm, <- sum_mul, (Rmult_comm y), <- sum_mul.
    apply sum_le; intros r R; specialize (F r R); lra.
  - destruct C as [[k [K E]] _], C' as [_ L]. rewrite <- E. specialize (part k K). specialize (L k K). nra.
  - rewrite C, C', Rmult_comm, <- sum_mul, (Rmult_comm y), <- sum_mul. apply sum_le; auto. Qed.
(* {lem-gdrf-measure} If z VMs of i, divided if need be, run on one VM of h, this VM counts for at least as much as
   they do. *)
Theorem one_vm_in_another how m S d d' x x' z : (∀ r < m, 0 < S r) ->
  counts how m S d x -> counts how m S d' x' -> 0 < x -> (∀ r < m, z * d r <= d' r) -> z <= x' / x.
Proof. intros Sp C C' X F. assert (H : z * x <= 1 * x') by (apply (in_terms how m S d d'); auto; [lra|intros r R;
  specialize (F r R); lra]). apply Rmult_le_reg_r with x; auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
(* ------------------------------------------------------------------------------------------- DRFH in the fluid *)
(* {model} *)
(* Users are counted by level: a i j is the share of resource j of the cell that user i holds per unit of its level, w i
   its weight, and a class k of machines has the share c k j. Of the level g i the part x i k stands on class k. *)
Record cell := Cell { n : nat; m : nat; K : nat; c : nat -> nat -> R; w : nat -> R; a : nat -> nat -> R }.
Definition positive_demands P := ∀ i < n P, 0 < w P i /\ (∀ j < m P, 0 < a P i j <= w P i) /\
  ∃ j < m P, a P i j = w P i.
Definition places P x g := (forall i k, 0 <= x i k) /\ (∀ i < n P, (Σ k < K P, x i k) = g i) /\
  forall k j, (k < K P)%nat -> (j < m P)%nat -> (Σ i < n P, x i k * a P i j) <= c P k j.
Definition possible P g := exists x, places P x g.
(* L is the optimum, and g an optimal solution *)
Definition optimal P L g := 0 <= L /\ possible P g /\ (∀ i < n P, L <= g i) /\
  forall z M, possible P z -> (∀ i < n P, M <= z i) -> M <= L.
(* Q is P as it is if user i claims other demands *)
Definition claims P Q i := n Q = n P /\ m Q = m P /\ K Q = K P /\ (forall k j, c Q k j = c P k j) /\
  (forall h, w Q h = w P h) /\
  forall h j, h <> i -> a Q h j = a P h j.
(* {end} *)

(* {thm-gdrf-drfh} Part 1 *)
Theorem levels_are_equal P L g i : positive_demands P -> optimal P L g -> (i < n P)%nat -> g i = L.
Proof. intros Po [L0 [[x [X0 [Xs Xc]]] [Lo Hi]]] I. destruct (Rle_lt_or_eq_dec _ _ (Lo i I)) as [G|]; [exfalso|auto].
  destruct (sum_gt0_inv (K P) (fun k => x i k)) as [k [Kk Gk]]; [rewrite Xs by auto; lra|].
  set (s := Rmin (x i k) (g i - L) / 2). pose proof (Rmin_l (x i k) (g i - L)); pose proof (Rmin_r (x i k) (g i - L)).
  assert (S : 0 < s) by (unfold s; pose proof (Rmin_glb_lt (x i k) (g i - L) 0); lra).
  destruct (small_part (m P) (fun j => Σ h < n P, a P h j) (fun j => s * a P i j)) as [e [E Ok]].
  { intros j J; split; [apply sum_ge0; intros h Hh; apply Rlt_le, (Po h Hh); auto|]. destruct (Po i I) as [_ [D _]].
  specialize (D j J); nra. } pose proof (Rmin_l e s); pose proof (Rmin_r e s); pose proof (Rmin_glb_lt e s 0 E S).
  assert (L + Rmin e s <= L); [|lra]. set (d := fun h => if Nat.eqb h i then e - s else e).
  apply (Hi (fun h => g h + d h)); [|intros h H'; specialize (Lo h H'); unfold d; destruct (Nat.eqb_spec h i) as [->|];
  unfold s in *; lra]. exists (fun h u => x h u + if Nat.eqb u k then d h else 0). split; [|split].
  - intros h u; specialize (X0 h u). destruct (Nat.eqb_spec u k) as [->|]; [unfold d;
    destruct (Nat.eqb_spec h i) as [->|]; unfold s in *|]; lra.
  - intros h H'. rewrite (sum_plus (K P) (fun u => x h u)), (sum_only (K P) k (fun _ => d h)), Xs; auto.
  - intros u j U J. specialize (Xc u j U J). destruct (Nat.eqb u k) eqn:Eu;
    [|apply Rle_trans with (2 := Xc), Req_le, sum_ext; intros; lra].
    apply Rle_trans with ((Σ h < n P, x h u * a P h j) + ((Σ h < n P, a P h j) * e + - (s * a P i j)));
    [apply Req_le|specialize (Ok j J); lra]. rewrite <- (sum_only (n P) i (fun h => s * a P h j)) by auto.
    replace (- sum _ _) with (sum (n P) (fun h => if Nat.eqb h i then s * a P h j else 0) * -1) by lra.
    rewrite <- !sum_mul, <- !sum_plus. apply sum_ext; intros h _. unfold d; destruct (Nat.eqb h i); lra. Qed.
(* {thm-gdrf-drfh} Part 2: user i could run z VMs on what h holds, scaled by weight, even if it were in one heap. *)
Theorem no_envy P L g i h z : positive_demands P -> optimal P L g -> (i < n P)%nat -> (h < n P)%nat ->
  (∀ j < m P, a P i j * z <= w P i / w P h * (a P h j * g h)) -> z <= g i.
Proof. intros Po Op I H B. pose proof (proj1 Op). rewrite (levels_are_equal P L g i), (levels_are_equal P L g h)
  in * by auto. destruct (Po i I) as [Wi [_ [j [J D]]]], (Po h H) as [Wh [A _]]. specialize (B j J); specialize (A j J).
  rewrite D in B. apply Rmult_le_reg_l with (w P i); auto. apply Rle_trans with (1 := B).
  replace (w P i * L) with (w P i / w P h * (w P h * L)) by (field; lra).
  apply Rmult_le_compat_l; [apply Rlt_le, Rdiv_lt_0_compat; auto|nra]. Qed.
(* {thm-gdrf-drfh} Part 3 *)
Theorem drfh_is_efficient P L g z i : positive_demands P -> optimal P L g -> possible P z -> (∀ h < n P, g h <= z h) ->
  (i < n P)%nat -> z i <= g i.
Proof. intros Po [L0 [F [Lo Hi]]] Z Le I. rewrite (levels_are_equal P L z i); auto.
  split; [auto|split; [auto|split; [|auto]]]. intros h H. specialize (Lo h H); specialize (Le h H); lra. Qed.
(* {thm-gdrf-drfh} Part 4: x is what is placed on the classes after the lie, and i can run y k of its true VMs on what
   it has on class k. *)
Theorem no_lie_about_demands P Q L M g g' x y i : positive_demands P -> positive_demands Q -> claims P Q i ->
  optimal P L g -> optimal Q M g' -> places Q x g' -> (i < n P)%nat -> (forall k, 0 <= y k) ->
  (forall k j, (k < K P)%nat -> (j < m P)%nat -> y k * a P i j <= x i k * a Q i j) -> (Σ k < K P, y k) <= g i.
Proof. intros Po Poq [en [em [ek [ec [ew eo]]]]] Op Oq [X0 [Xs Xc]] I Y0 Yc.
  rewrite (levels_are_equal P L g i) by auto. assert (Le : (Σ k < K P, y k) <= M).
  { rewrite <- (levels_are_equal Q M g' i), <- Xs, ek by (auto; lia). apply sum_le; intros k Kk.
    destruct (Po i I) as [W [_ [j [J D]]]], (Poq i ltac:(lia)) as [_ [A _]].
    specialize (Yc k j Kk J); specialize (A j ltac:(lia)). rewrite ew in A. rewrite D in Yc. specialize (X0 i k). nra. }
  destruct Op as [_ [_ [_ Hi]]]. apply (Hi (fun h => if Nat.eqb h i then Σ k < K P, y k else g' h)).
  - exists (fun h k => if Nat.eqb h i then y k else x h k). split; [|split].
    + intros h k; destruct (Nat.eqb h i); auto.
    + intros h H; destruct (Nat.eqb h i); [auto|rewrite <- ek; apply Xs; lia].
    + intros k j Kk J. rewrite <- ec. apply Rle_trans with (2 := Xc k j ltac:(lia) ltac:(lia)).
      rewrite en; apply sum_le; intros h H. destruct (Nat.eqb_spec h i) as [->|N]; [auto|rewrite eo by auto; lra].
  - intros h H; destruct (Nat.eqb h i); [lra|rewrite (levels_are_equal Q M g' h) by (auto; lia); auto]. Qed.
(* {whole} lem-gdrf-utilisation lem-gdrf-weight lem-gdrf-measure thm-gdrf-drfh *)
