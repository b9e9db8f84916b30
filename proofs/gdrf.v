(* GDRF: the measures of machines and users. *)
From Coq Require Import Reals Lra Lia Arith.
From proofs Require Import sums.
Local Open Scope R_scope.

(* {model} *)
(* A vector v of m resources: its amount; its largest entry and its sum as parts of the cell S. *)
Definition amount m (v : nat -> R) := Σ r < m, v r.
Definition largest m (v : nat -> R) x := (exists r, (r < m)%nat /\ v r = x) /\ forall r, (r < m)%nat -> v r <= x.

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

Lemma amount_gt0 m c : (forall r, (r < m)%nat -> 0 <= c r) -> (exists r, (r < m)%nat /\ 0 < c r) -> 0 < amount m c.
Proof. intros C [r [R G]]; apply sum_gt0 with r; auto. Qed.

(* {lem-gdrf-utilisation} the fraction of the amount that is in use; its range and ends *)
Theorem part_in_use m c o : (forall r, (r < m)%nat -> 0 <= o r <= c r) -> (exists r, (r < m)%nat /\ 0 < c r) ->
  total_utilisation m c o = amount m o / amount m c /\ 0 <= total_utilisation m c o <= 1 /\
  (total_utilisation m c o = 0 <-> forall r, (r < m)%nat -> o r = 0) /\
  (total_utilisation m c o = 1 <-> forall r, (r < m)%nat -> o r = c r).
Proof.
intros O S. assert (C : 0 < amount m c) by (apply amount_gt0; auto; intros r R; specialize (O r R); lra).
assert (inv : 0 < / amount m c) by (apply Rinv_0_lt_compat; auto).
assert (E : total_utilisation m c o = amount m o / amount m c).
{ unfold total_utilisation. transitivity (Σ r < m, o r * / amount m c); [|rewrite sum_mul; auto].
  apply sum_ext; intros r R; unfold utilisation. specialize (O r R). destruct (Req_EM_T (c r) 0) as [Z|Z]; [|field; lra].
  assert (o r = 0) as -> by lra. lra. }
assert (O0 : 0 <= amount m o) by (apply sum_ge0; intros r R; apply (O r R)).
assert (Oc : amount m o <= amount m c) by (apply sum_le; intros r R; apply (O r R)).
rewrite E. split; [auto|split; [|split]].
- unfold Rdiv; split; [apply Rmult_le_pos; lra|]. apply Rmult_le_reg_r with (amount m c); auto. rewrite Rmult_assoc, Rinv_l; lra.
- split; intros H.
  + intros r R. destruct (Rle_lt_or_eq_dec 0 (o r)) as [G|]; [apply (O r R)| |auto]. exfalso.
    assert (0 < amount m o) by (apply sum_gt0 with r; auto; intros h Hh; apply (O h Hh)). unfold Rdiv in H. nra.
  + assert (amount m o = 0) as -> by (apply sum_zero; auto). unfold Rdiv; lra.
- split; intros H.
  + intros r R. destruct (Rle_lt_or_eq_dec (o r) (c r)) as [G|]; [apply (O r R)| |auto]. exfalso.
    assert (L : amount m o < amount m c) by (apply sum_lt with r; auto; intros h Hh; apply (O h Hh)).
    assert (amount m o / amount m c * amount m c = amount m o) by (field; lra). rewrite H in *. lra.
  + assert (amount m o = amount m c) as -> by (apply sum_ext; auto). field; lra.
Qed.

(* {lem-gdrf-utilisation} the same amount is a larger fraction of less *)
Theorem scarcer_is_fuller o c c' : 0 < o -> 0 < c < c' -> o / c' < o / c.
Proof. intros O C; unfold Rdiv; apply Rmult_lt_compat_l; auto. apply Rinv_lt_contravar; [nra|lra]. Qed.

(* {lem-gdrf-weight} *)
Theorem range_of_gdrw m mu top : (forall r, (r < m)%nat -> 0 <= mu r) -> largest m mu top -> 0 < top ->
  1 <= gdrw m mu top <= INR m /\ (forall z, 0 < z -> gdrw m (fun r => z * mu r) (z * top) = gdrw m mu top).
Proof.
intros N [[k [K E]] L] T. assert (inv : 0 < / top) by (apply Rinv_0_lt_compat; auto). split; [split|].
- replace 1 with (mu k / top) by (rewrite E; field; lra). apply (sum_term m (fun r => mu r / top)); auto.
  intros r R; apply Rmult_le_pos; [apply N; auto|lra].
- assert (H : forall n, (Σ r < n, 1) = INR n) by (induction n; [auto|rewrite S_INR, <- IHn; auto]). rewrite <- H.
  apply sum_le; intros r R; specialize (L r R). apply Rmult_le_reg_r with top; auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
- intros z Z; apply sum_ext; intros r R; field; lra.
Qed.

(* {lem-gdrf-weight} 2; of users with the same dominant share *)
Theorem larger_weight_larger_sum m mu nu top : 0 < top ->
  (gdrw m mu top < gdrw m nu top <-> (Σ r < m, mu r) < Σ r < m, nu r).
Proof.
intros T. assert (inv : 0 < / top) by (apply Rinv_0_lt_compat; auto).
assert (H : forall v, gdrw m v top = (Σ r < m, v r) * / top) by (intros v; unfold gdrw, Rdiv; rewrite sum_mul; auto). rewrite !H.
split; intros L; [apply Rmult_lt_reg_r with (/ top)|apply Rmult_lt_compat_r]; auto.
Qed.

(* {lem-gdrf-measure} z VMs of i, divided if need be, run on one VM of h: it counts for at least as much *)
Theorem one_vm_in_another how m S d d' x x' z : (forall r, (r < m)%nat -> 0 < S r) ->
  counts how m S d x -> counts how m S d' x' -> 0 < x -> (forall r, (r < m)%nat -> z * d r <= d' r) -> z <= x' / x.
Proof.
intros Sp C C' X F. assert (H : z * x <= x').
{ destruct how; simpl in *.
  - rewrite C, C'. unfold amount. rewrite Rmult_comm, <- sum_mul. apply sum_le; intros r R; specialize (F r R); lra.
  - destruct C as [[k [K E]] _], C' as [_ L]. rewrite <- E. apply Rle_trans with (2 := L k K).
    specialize (F k K). unfold Rdiv. assert (0 < / S k) by (apply Rinv_0_lt_compat; auto). nra.
  - rewrite C, C', Rmult_comm, <- sum_mul. apply sum_le; intros r R; specialize (F r R).
    unfold Rdiv. assert (0 < / S r) by (apply Rinv_0_lt_compat; auto). nra. }
apply Rmult_le_reg_r with x; auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(* {whole} lem-gdrf-utilisation lem-gdrf-weight lem-gdrf-measure *)
