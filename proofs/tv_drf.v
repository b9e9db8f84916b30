(* TV-DRF: one period, with the past given. *)
From Coq Require Import Reals Lra Lia Arith.
From proofs Require Import sums foundations.
Local Open Scope R_scope.

(* {model} *)
(* A period, with the past given: how many tasks x each user runs. What fits on the machines may be anything. *)
Record period := Period {
  n : nat;
  fits : (nat -> R) -> Prop;
  share : nat -> R -> R;              (* G_i: the cumulative dominant share after x tasks *)
  coefficient : nat -> R -> R         (* beta_i after x tasks *)
}.
(* Each task needs something, so the share grows; the coefficient does not fall. *)
Definition grows P := forall i x z, x < z -> share P i x < share P i z /\ coefficient P i x <= coefficient P i z.
Definition shares P x i := share P i (x i).

(* (9): lexicographically max-min in the shares, among what fits and leaves no coefficient below 1 *)
Definition allowed P x := fits P x /\ forall i, (i < n P)%nat -> 1 <= coefficient P i (x i).
Definition chosen P x := allowed P x /\ forall z, allowed P z -> ~ lexicographically_less (sort (n P) (shares P x)) (sort (n P) (shares P z)).

(* By resources a coefficient of 1 can be out of reach: first the coefficients up to 1 are made max-min, then the shares. *)
Definition up_to_1 P x i := Rmin 1 (coefficient P i (x i)).
Definition chosen_by_resources P x := fits P x /\
  (forall z, fits P z -> ~ lexicographically_less (sort (n P) (up_to_1 P x)) (sort (n P) (up_to_1 P z))) /\
  (forall z, fits P z -> (forall i, (i < n P)%nat -> up_to_1 P z i = up_to_1 P x i) ->
    ~ lexicographically_less (sort (n P) (shares P x)) (sort (n P) (shares P z))).
(* {end} *)

Lemma no_less P x z i : grows P -> x i <= z i -> share P i (x i) <= share P i (z i) /\ coefficient P i (x i) <= coefficient P i (z i).
Proof. intros G [L|E]; [destruct (G i _ _ L); split; lra|rewrite E; split; lra]. Qed.

(* {thm-tv_drf-2} nothing that fits gives some user more tasks and nobody fewer *)
Theorem efficient P x z i : grows P -> chosen P x -> fits P z -> (forall h, (h < n P)%nat -> x h <= z h) -> (i < n P)%nat -> z i <= x i.
Proof.
intros G [[F B] C] Fz Le I. destruct (Rle_lt_dec (z i) (x i)) as [|lt]; [auto|exfalso]. apply (C z).
- split; auto. intros h H. apply Rle_trans with (1 := B h H). apply (no_less P x z h G (Le h H)).
- apply (more_is_larger (n P) (shares P x) (shares P z) i); auto; [|apply G; auto].
  intros h H; apply (no_less P x z h G (Le h H)).
Qed.

(* {thm-tv_drf-2} the same by resources *)
Theorem efficient_by_resources P x z i : grows P -> chosen_by_resources P x -> fits P z -> (forall h, (h < n P)%nat -> x h <= z h) ->
  (i < n P)%nat -> z i <= x i.
Proof.
intros G [F [C1 C2]] Fz Le I. destruct (Rle_lt_dec (z i) (x i)) as [|lt]; [auto|exfalso].
assert (up : forall h, (h < n P)%nat -> up_to_1 P x h <= up_to_1 P z h).
{ intros h H; unfold up_to_1. apply Rle_min_compat_l. apply (no_less P x z h G (Le h H)). }
destruct (some_or_none (n P) (up_to_1 P x) (up_to_1 P z)) as [[h [H L]]|same].
- apply (C1 z Fz), (more_is_larger (n P) (up_to_1 P x) (up_to_1 P z) h); auto.
- apply (C2 z Fz).
  + intros h H; apply Rle_antisym; auto.
  + apply (more_is_larger (n P) (shares P x) (shares P z) i); auto; [|apply G; auto].
    intros h H; apply (no_less P x z h G (Le h H)).
Qed.

(* {whole} thm-tv_drf-2 *)
