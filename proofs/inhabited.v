(* The hypotheses are not contradictory: each record of them has an instance, with zeros, bounds and absent users. *)
From Coq Require Import Reals Lra Lia Arith.
From proofs Require Import sums foundations dmfa_srq cbdrf.
Local Open Scope R_scope.

(* Two users and two resources: the first needs one of them and has a bound, the second needs both; a third is absent. *)
Definition pool_3 := Pool 3 2
  (fun i j => match i, j with 0%nat, 0%nat => 1/2 | 1%nat, 0%nat => 1/2 | 1%nat, 1%nat => 1/4 | _, _ => 0 end)
  (fun i => match i with 0%nat | 1%nat => 1/2 | _ => 0 end) (fun i => match i with 0%nat => Some (1/2) | 1%nat => None | _ => Some 0 end).
Example pool_is_a_model : foundations.model pool_3.
Proof.
split; simpl; intros; destruct i as [|[|[|i]]]; simpl; try lia; try lra; auto.
all: try (destruct j as [|[|j]]; lra). all: exists O; split; [lia|lra].
Qed.
Example a_feasible_one : feasible pool_3 (fun i => match i with 0%nat => 1/2 | 1%nat => 3/2 | _ => 0 end).
Proof.
split; [|split]; intros i I.
- destruct i as [|[|[|i]]]; lra.
- destruct i as [|[|[|i]]]; [| | |simpl in I; lia]; cbn; try lra; exact Logic.I.
- destruct i as [|[|i]]; [| |simpl in I; lia]; unfold use, pool_3; cbn; lra.
Qed.

(* One user comes after the other, and the first leaves. *)
Definition course_2 := dmfa_srq.Course 2 2 (fun i j => match i, j with 0%nat, 1%nat => 0 | _, _ => 1 end) (fun _ => 1) (fun i => i) (fun i => match i with 0%nat => 2%nat | _ => 9%nat end).
Example course_is_a_model : dmfa_srq.model course_2.
Proof.
split; simpl; intros; try lra; try (destruct i as [|i], j as [|[|j]]; lra). exists O; split; [lia|destruct i; auto].
Qed.

(* A node in good standing, a punished one and an absent one. *)
Definition phase_3 := Phase 3 1 (fun i => Nat.ltb i 2) (fun _ _ => 1) (fun i => match i with 0%nat => 1 | _ => 1/2 end).
Example phase_is_a_model : cbdrf.model phase_3.
Proof. split; simpl; intros; try lra; try lia; [exists O; split; auto|destruct i; lra]. Qed.
Example terms_are_proper : proper (Terms 1 1 (1/10) (1/10) (1/10) (3/4)).
Proof. unfold proper; simpl; lra. Qed.
