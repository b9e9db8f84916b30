(* TV-DRF: the machines and the queues, a period with the past given, and its one level. *)
From Coq Require Import List ClassicalDedekindReals.
From proofs Require Import sums lemmas.
Local Open Scope R_scope.
(* {model} *)
(* What user i submits in period s is counted by the dominant share of the tasks per unit of weight. So a user that runs
   all of it rises by size i s, and where tasks wait, its level G_i is its position in its queue. *)
Record course := Course {
  n : nat; m : nat; K : nat;          (* users, resources, machines *)
  c : nat -> nat -> R;                (* machine k's part of resource j of the pool *)
  p : nat -> nat -> R;                (* the part of machine k that user i brought *)
  w : nat -> R;                       (* weight *)
  size : nat -> nat -> R;             (* how much user i submits in period s *)
  a : nat -> nat -> nat -> R          (* the share of resource j that it needs, per unit *)
}.
Record model C : Prop := {
  capacity : forall k j, 0 <= c C k j;
  owned : forall i k, 0 <= p C i k;
  owners : ∀ k < K C, (Σ i < n C, p C i k) <= 1;
  weight_gt0 : forall i, 0 < w C i;
  size_ge0 : forall i s, 0 <= size C i s;
  need_ge0 : forall i s j, 0 <= a C i s j;
  need_le : forall i s j, a C i s j <= w C i;
  dominant : forall i s, ∃ j < m C, a C i s j = w C i
}.
Definition positive C := forall i s j, (i < n C)%nat -> (j < m C)%nat -> 0 < a C i s j.

(* what has been submitted before period s, what of period s lies before position x, and what all before x needs *)
Definition submitted C i s := Σ r < s, size C i r.
Definition part C i s x := Rmax 0 (Rmin (size C i s) (x - submitted C i s)).
Definition used C t i j x := Σ s < S t, part C i s x * a C i s j.

(* q i s k of it runs on machine k if users go on from the positions X to Z in period t *)
Definition places C t X Z (q : nat -> nat -> nat -> R) := (forall i s k, 0 <= q i s k) /\
  (forall i s, (i < n C)%nat -> (s < S t)%nat -> (Σ k < K C, q i s k) = part C i s (Z i) - part C i s (X i)) /\
  forall k j, (k < K C)%nat -> (j < m C)%nat -> (Σ i < n C, Σ s < S t, q i s k * a C i s j) <= c C k j.
Definition fits C t X Z := (∀ i < n C, 0 <= X i <= Z i /\ Z i <= submitted C i (S t)) /\
  exists q, places C t X Z q.

(* user i goes on from x to z alone, on its own parts of the machines *)
Definition alone C t i x z := (0 <= x <= z /\ z <= submitted C i (S t)) /\ exists q : nat -> nat ->
  R, (forall s k, 0 <= q s k) /\
  (∀ s < S t, (Σ k < K C, q s k) = part C i s z - part C i s x) /\
  forall k j, (k < K C)%nat -> (j < m C)%nat -> (Σ s < S t, q s k * a C i s j) <= p C i k * c C k j.

(* (8): beta, from what was used and owned; None: infinite *)
Definition coefficient m (V O : nat -> R) beta := match beta with
  | Some x => ((∃ j < m, 0 < O j /\ x = V j / O j) /\ ∀ j < m, 0 < O j -> x <= V j / O j) \/
      (x = 1 /\ ∀ j < m, O j = 0 /\ V j = 0)
  | None => (∀ j < m, O j = 0) /\ ∃ j < m, 0 < V j end.
Definition at_least x beta := match beta with Some z => x <= z | None => True end.
(* beta >= 1: no less of any resource than alone *)
Definition kept C (V O : nat -> nat -> R) := forall i j, (i < n C)%nat -> (j < m C)%nat -> O i j <= V i j.
(* The rule demands beta >= 1 where it is within reach; possible z and reached z: z can run, and it has beta >= 1. *)
Definition demanded (possible reached : (nat -> R) -> Prop) x := (exists z, possible z /\ reached z) -> possible x /\
  reached x.
(* {end} *)

(* {thm-tv_drf-1} The coefficient is at least 1 exactly if at least as much of each resource was used as owned. *)
Theorem coefficient_1 m V O beta : (forall j, 0 <= V j) -> (forall j, 0 <= O j) -> coefficient m V O beta ->
  (at_least 1 beta <-> ∀ j < m, O j <= V j).
Proof. intros V0 O0. destruct beta as [x|]; simpl.
  - intros [[[j [J [G E]]] L]|[-> Z]]; split; intros H.
    + intros k Kk; destruct (Rle_lt_or_eq_dec 0 (O k) (O0 k)) as [Gk|<-]; [|auto]. specialize (L k Kk Gk).
      replace (V k) with (V k / O k * O k) by (field; lra). nra.
    + specialize (H j J). rewrite E; apply Rmult_le_reg_r with (O j); auto.
      unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
    + intros j J; destruct (Z j J) as [-> ->]; lra.
    + lra.
  - intros [Z _]; split; auto. intros _ j J; rewrite Z by auto; auto. Qed.
(* ---------------------------------------------------------------------------------------------- positions and parts *)
Lemma submitted_mono C i s t : model C -> (s <= t)%nat -> submitted C i s <= submitted C i t.
Proof. intros M; induction 1; [lra|]. unfold submitted in *; simpl. pose proof (size_ge0 C M i m0). lra. Qed.
Lemma part_step C i s x z : model C -> x <= z -> 0 <= part C i s z - part C i s x <= z - x.
Proof. intros M L; unfold part. pose proof (size_ge0 C M i s). minmax. Qed.
Lemma parts C i t x : model C -> 0 <= x -> (Σ s < t, part C i s x) = Rmin x (submitted C i t).
Proof. intros M X; induction t as [|t IH]; [unfold submitted; simpl; rewrite Rmin_right; lra|]. simpl; rewrite IH.
  unfold part. change (submitted C i (S t)) with (submitted C i t + size C i t). pose proof (size_ge0 C M i t). minmax.
  Qed.
Lemma some_part C i t x z : model C -> 0 <= x < z -> z <= submitted C i t -> ∃ s < t, part C i s x < part C i s z.
Proof. intros M L Z. destruct (some_or_none t (fun s => part C i s x) (fun s => part C i s z)) as [[s [Ss G]]|N];
  [exists s; auto|exfalso]. pose proof (sum_le t _ _ N) as Le. rewrite !parts in Le by (auto; lra).
  rewrite !Rmin_left in Le by lra. lra. Qed.
Lemma used_mono C t i j x z : model C -> x <= z -> used C t i j x <= used C t i j z.
Proof. intros M L; apply sum_le; intros s _. apply Rmult_le_compat_r; [apply need_ge0; auto|].
  pose proof (part_step C i s x z M L); lra. Qed.
(* each step forward adds to some resource; with positive demands, to all *)
Lemma used_more C t i x z : model C -> 0 <= x < z -> z <= submitted C i (S t) ->
  (∃ j < m C, used C t i j x < used C t i j z) /\ (positive C -> (i < n C)%nat ->
  ∀ j < m C, used C t i j x < used C t i j z).
Proof. intros M L Z. destruct (some_part C i (S t) x z M L Z) as [s [Ss G]].
  assert (H : forall j, 0 < a C i s j -> used C t i j x < used C t i j z).
  { intros j D; unfold used; apply sum_lt with s; [|auto|apply Rmult_lt_compat_r; auto].
    intros r _. apply Rmult_le_compat_r; [apply need_ge0; auto|]. pose proof (part_step C i r x z M ltac:(lra)); lra. }
  split; [|intros P I j J; apply H, P; auto]. destruct (dominant C M i s) as [j [J D]]. exists j; split; [auto|apply H].
  rewrite D; apply weight_gt0; auto. Qed.
(* of what runs on the machines, as much as is wanted stays *)
Definition scaled have need x := if Rle_dec have need then x else x * (need / have).
Lemma scaled_le have need x : 0 <= need -> 0 <= x -> 0 <= scaled have need x <= x.
Proof. intros N X; unfold scaled; destruct (Rle_dec have need); [lra|]. assert (0 <= need / have <= 1); [|nra].
  assert (0 < / have) by (apply Rinv_0_lt_compat; lra). unfold Rdiv; split; [nra|].
  apply Rmult_le_reg_r with have; [lra|]. rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma scaled_sum N have need (q : nat -> R) : 0 <= need -> sum N q = have ->
  (Σ k < N, scaled have need (q k)) = Rmin have need.
Proof. intros Ne H; unfold scaled, Rmin; destruct (Rle_dec have need); [auto|]. rewrite sum_mul, H. field; lra. Qed.
Lemma fits_less C t X Z Y : model C -> fits C t X Z -> (∀ i < n C, X i <= Y i <= Z i) -> fits C t X Y.
Proof. intros M [B [q [Q0 [Qs Qc]]]] L. split; [intros i I; specialize (B i I); specialize (L i I); lra|].
  exists (fun i s k => scaled (part C i s (Z i) - part C i s (X i)) (Rmax 0 (part C i s (Y i) - part C i s (X i)))
  (q i s k)). split; [|split].
  - intros i s k; apply scaled_le; [apply Rmax_l|auto].
  - intros i s I Ss; specialize (L i I). rewrite scaled_sum; [|apply Rmax_l|auto].
    pose proof (part_step C i s (X i) (Y i) M (proj1 L)); pose proof (part_step C i s (Y i) (Z i) M (proj2 L)).
    rewrite (Rmax_right 0) by lra. rewrite Rmin_right; lra.
  - intros k j Kk J; apply Rle_trans with (2 := Qc k j Kk J). apply sum_le; intros i I; apply sum_le; intros s Ss.
    apply Rmult_le_compat_r; [apply need_ge0; auto|]. apply scaled_le; [apply Rmax_l|auto]. Qed.
(* What users can run alone, they can run at the same time, each on its own parts. *)
Lemma all_alone C t X Z : model C -> (∀ i < n C, alone C t i (X i) (Z i)) -> fits C t X Z.
Proof. intros M A. split; [intros i I; apply (A i I)|]. destruct (choose (n C) (fun i (q : nat -> nat ->
  R) => (forall s k, 0 <= q s k) /\ (∀ s < S t, (Σ k < K C, q s k) = part C i s (Z i) - part C i s (X i)) /\
  forall k j, (k < K C)%nat -> (j < m C)%nat -> (Σ s < S t, q s k * a C i s j) <= p C i k * c C k j) (fun _ _ => 0))
  as [q Q]. { intros i I; apply (A i I). } exists (fun i s k => if lt_dec i (n C) then q i s k else 0). split; [|split].
  - intros i s k; destruct (lt_dec i (n C)) as [I|]; [apply (Q i I)|lra].
  - intros i s I Ss; destruct (lt_dec i (n C)) as [_|]; [apply (Q i I); auto|tauto].
  - intros k j Kk J. apply Rle_trans with (Σ i < n C, p C i k * c C k j).
    + apply sum_le; intros i I; destruct (lt_dec i (n C)) as [_|]; [apply (Q i I); auto|tauto].
    + rewrite sum_mul. pose proof (owners C M k Kk). pose proof (capacity C M k j). nra. Qed.
(* ---------------------------------------------------------------------------------------------- no less than alone *)
(* {thm-tv_drf-1} Tasks expire. In period t users run x t together, and would run y t alone. *)
Theorem expiring_no_less_than_alone C (x y : nat -> nat -> R) : model C -> let V z t i j := (Σ s < t,
  x s i * a C i s j) + z i * a C i t j in let Own t i j := Σ s < S t, y s i * a C i s j in let possible t z := fits C t
  (fun i => submitted C i t) (fun i => submitted C i t + z i) in (forall t i, (i < n C)%nat ->
  alone C t i (submitted C i t) (submitted C i t + y t i)) -> (forall t, demanded (possible t) (fun z => kept C (V z t)
  (Own t)) (x t)) -> forall t, (exists z, possible t z /\ kept C (V z t) (Own t)) /\ kept C (V (x t) t) (Own t).
Proof. intros M V Own possible A R. assert (H : forall t, exists z, possible t z /\ kept C (V z t) (Own t)).
  { induction t as [|t IH].
    - exists (y O); split; [apply all_alone; auto|]. intros i j _ _; unfold V, Own; simpl; lra.
    - exists (y (S t)); split; [apply all_alone; auto|]. intros i j I J. destruct (R t IH) as [_ Kt].
      specialize (Kt i j I J). unfold V, Own in *. simpl in *. lra. }
  intros t; split; [auto|apply R; auto]. Qed.
(* {thm-tv_drf-1} Tasks wait. At the start of period t users have come to X t in their queues together, and would have
   come to Z t alone. *)
Theorem waiting_no_less_than_alone C (X Z : nat -> nat -> R) : model C -> let V z t i j := used C t i j (z i) in let Own
  t i j := used C t i j (Z (S t) i) in (forall i, X 0%nat i = 0 /\ Z 0%nat i = 0) -> (forall t i, (i < n C)%nat ->
  alone C t i (Z t i) (Z (S t) i)) -> (forall t, demanded (fits C t (X t)) (fun z => kept C (V z t) (Own t)) (X (S t)))
  -> forall t, (exists z, fits C t (X t) z /\ kept C (V z t) (Own t)) /\ kept C (V (X (S t)) t) (Own t).
Proof. intros M V Own S0 A R. assert (further : forall t z, fits C t (X t) z -> kept C (V z t) (Own t) ->
  ∀ i < n C, Z (S t) i <= z i). { intros t z [B _] Kt i I. suppose L. destruct (A t i I) as [Ai _]. specialize (B i I).
  destruct (used_more C t i (z i) (Z (S t) i) M) as [[j [J G]] _]; [lra|lra|]. specialize (Kt i j I J).
  unfold V, Own in Kt. lra. } assert (H : forall t, (∀ i < n C, Z t i <= X t i /\ X t i <= submitted C i t) ->
  exists z, fits C t (X t) z /\ kept C (V z t) (Own t)).
  { intros t Inv. exists (fun i => Rmax (X t i) (Z (S t) i)). split; [|intros i j I J; apply used_mono;
    [auto|apply Rmax_r]]. apply all_alone; [auto|]. intros i I. destruct (A t i I) as [B [q [Q0 [Qs Qc]]]].
    destruct (Inv i I) as [ZX Xs]. assert (St : submitted C i t <= submitted C i (S t)) by (apply submitted_mono; auto).
    split; [minmax|]. exists (fun s k => scaled (part C i s (Z (S t) i) - part C i s (Z t i))
    (Rmax 0 (part C i s (Z (S t) i) - part C i s (X t i))) (q s k)). split; [|split].
    - intros s k; apply scaled_le; [apply Rmax_l|auto].
    - intros s Ss. rewrite scaled_sum; [|apply Rmax_l|auto]. pose proof (part_step C i s (Z t i) (X t i) M ZX).
      destruct (Rle_lt_dec (X t i) (Z (S t) i)) as [L|G].
      + rewrite (Rmax_right (X t i)) by auto. pose proof (part_step C i s (X t i) (Z (S t) i) M L).
        rewrite Rmax_right by lra. rewrite Rmin_right; lra.
      + rewrite (Rmax_left (X t i)) by lra. pose proof (part_step C i s (Z (S t) i) (X t i) M ltac:(lra)).
        pose proof (part_step C i s (Z t i) (Z (S t) i) M ltac:(lra)). rewrite Rmax_left by lra.
        rewrite Rmin_right; lra.
    - intros k j Kk J; apply Rle_trans with (2 := Qc k j Kk J). apply sum_le; intros s Ss.
      apply Rmult_le_compat_r; [apply need_ge0; auto|]. apply scaled_le; [apply Rmax_l|auto]. }
  assert (Inv : forall t i, (i < n C)%nat -> Z t i <= X t i /\ X t i <= submitted C i t).
  { induction t as [|t IH]; intros i I; [destruct (S0 i) as [-> ->]; unfold submitted; simpl; lra|].
    destruct (R t (H t IH)) as [F Kt]. split; [apply (further t); auto|apply F; auto]. }
  intros t; assert (W := H t (Inv t)). split; [auto|apply (R t W)]. Qed.
(* {prop-tv_drf-tasks} Tasks wait, and demands are positive: the coefficient says whether more tasks have run than
   alone. *)
Theorem coefficient_and_tasks C t i x z beta : model C -> positive C -> (i < n C)%nat ->
  0 <= x <= submitted C i (S t) -> 0 <= z <= submitted C i (S t) -> coefficient (m C) (fun j => used C t i j x) (fun j
  => used C t i j z) beta -> (beta = Some 1 <-> x = z) /\ (at_least 1 beta <-> z <= x).
Proof. intros M P I Xr Zr B. assert (M0 : (0 < m C)%nat) by (destruct (dominant C M i t) as [j [J _]]; lia).
  assert (U0 : forall j v, 0 <= used C t i j v).
  { intros j v; apply sum_ge0; intros s _; apply Rmult_le_pos; [apply Rmax_l|apply need_ge0; auto]. }
  assert (more : forall v u, 0 <= v < u -> u <= submitted C i (S t) -> ∀ j < m C, used C t i j v < used C t i j u).
  { intros v u L U; apply (used_more C t i v u M L U); auto. } assert (zero : forall j, used C t i j 0 = 0).
  { intros j; apply sum_zero; intros s _. unfold part. rewrite Rmax_left; [lra|].
  assert (0 <= submitted C i s) by (apply sum_ge0; intros; apply size_ge0; auto).
  apply Rle_trans with (0 - submitted C i s); [apply Rmin_r|lra]. } assert (two : at_least 1 beta <-> z <= x).
  { rewrite (coefficient_1 (m C) _ _ beta) by (eauto; intros; apply U0). split.
    - intros H; suppose L. specialize (H O M0). specialize (more x z ltac:(lra) ltac:(lra) O M0). lra.
    - intros L j _; apply used_mono; auto. }
  split; [|exact two]. split.
  - intros ->. apply Rle_antisym; [|apply two; simpl; lra]. destruct B as [[[j [J [G E]]] _]|[_ Z]].
    + suppose L. specialize (more z x ltac:(lra) ltac:(lra) j J).
      assert (used C t i j x = 1 * used C t i j z) by (rewrite E; field; lra). lra.
    + suppose L. destruct (Z O M0) as [_ Zx]. specialize (more z x ltac:(lra) ltac:(lra) O M0). pose proof (U0 O z).
      lra.
  - intros <-. destruct beta as [b|]; simpl in B.
    + destruct B as [[[j [J [G E]]] _]|[-> _]]; [|auto]. f_equal. rewrite E; field; lra.
    + destruct B as [Z [j [J G]]]. rewrite Z in G by auto; lra. Qed.
(* ---------------------------------------------------------------------------------------------- one period *)
(* {model} *)
(* A period with the past given, whether tasks wait or expire: where users start in what they have submitted, their G
   before the period (past) and their lower limit (lower). *)
Record period := Period { C : course; t : nat; start : nat -> R; past : nat -> R; lower : nat -> R }.
Definition users P := n (C P).
(* A user that runs x rises by x; so it stands at start + (g - past) if its G is g, and with all it has at the upper
   limit. *)
Definition position P (g : nat -> R) i := start P i + (g i - past P i).
Definition upper P i := past P i + (submitted (C P) i (S (t P)) - start P i).
Definition possible P g := fits (C P) (t P) (start P) (position P g).
Definition allowed P g := possible P g /\ ∀ i < users P, lower P i <= g i.
(* (9) *)
Definition chosen P g := allowed P g /\ lexicographically_max_min (users P) (allowed P) g.
(* one level L for all, but for the limits *)
Definition level P L i := Rmin (Rmax L (lower P i)) (upper P i).
Definition proper P := model (C P) /\ forall i, past P i <= lower P i.
(* What users have used by the end of the period: y i s of what user i submitted in period s. The level is their sum. *)
Definition ran P g (y : nat -> nat -> R) := ∀ i < users P, (forall s, 0 <= y i s) /\ (Σ s < S (t P), y i s) = g i.
Definition in_all P (y : nat -> nat -> R) i j := Σ s < S (t P), y i s * a (C P) i s j.
(* {end} *)

(* With positive demands, what one user gives up makes room for a little more of everything. *)
Lemma room_for_all C t X Z Y i : model C -> positive C -> fits C t X Z -> (∀ h < n C, X h <= Y h <= Z h) ->
  (i < n C)%nat -> Y i < Z i ->
  exists e, 0 < e /\ forall V, (∀ h < n C, X h <= V h <= Y h + e /\ V h <= submitted C h (S t)) -> fits C t X V.
Proof. intros M P [B [q [Q0 [Qs Qc]]]] XY I G. pose proof (B i I) as Bi. pose proof (XY i I) as XYi.
  destruct (some_part C i (S t) (Y i) (Z i) M) as [s [Ss Gs]]; [lra|lra|].
  set (D := part C i s (Z i) - part C i s (Y i)) in *. set (H := part C i s (Z i) - part C i s (X i)).
  assert (DH : 0 < D <= H) by (unfold D, H; pose proof (part_step C i s (X i) (Y i) M); lra).
  destruct (sum_gt0_inv (K C) (fun k => q i s k)) as [k [Kk Gk]]; [rewrite (Qs i s I Ss); fold H; lra|].
  set (free := q i s k * (D / (2 * H))). assert (F0 : 0 < free).
  { unfold free; apply Rmult_lt_0_compat; auto. apply Rdiv_lt_0_compat; lra. }
  set (A := fun j => Σ h < n C, Σ r < S t, a C h r j). assert (A0 : forall j, 0 <= A j) by (intros j; apply sum_ge0;
  intros; apply sum_ge0; intros; apply need_ge0; auto). destruct (small_part (m C) A (fun j => free * a C i s j))
  as [e0 [E0 Ok]]; [intros j J; split; [auto|apply Rmult_lt_0_compat; [auto|apply P; auto]]|]. exists (Rmin e0 (D / 2)).
  pose proof (Rmin_l e0 (D / 2)); pose proof (Rmin_r e0 (D / 2)). set (e := Rmin e0 (D / 2)) in *.
  assert (0 < e) by (apply Rmin_glb_lt; lra). split; [auto|]. intros V HV.
  split; [intros h Hh; specialize (HV h Hh); specialize (XY h Hh); specialize (B h Hh); lra|].
  set (have := fun h r => part C h r (Z h) - part C h r (X h)). set (need := fun h r => part C h r (V h)
  - part C h r (X h)). assert (N0 : forall h r, (h < n C)%nat -> 0 <= need h r) by (intros h r Hh; destruct (HV h Hh);
  pose proof (part_step C h r (X h) (V h) M); unfold need; lra). assert (up : forall h r, (h < n C)%nat ->
  Rmax 0 (need h r - have h r) <= e). { intros h r Hh. destruct (HV h Hh) as [V1 _]. pose proof (XY h Hh) as Xh.
  apply Rmax_lub; [lra|]. unfold need, have. destruct (Rle_lt_dec (V h) (Z h)) as [L|L];
  [pose proof (part_step C h r (V h) (Z h) M L); lra|]. pose proof (part_step C h r (Z h) (V h) M ltac:(lra)). lra. }
  exists (fun h r u => if lt_dec h (n C) then scaled (have h r) (need h r) (q h r u) + (if Nat.eqb u k then Rmax 0 (need
  h r - have h r) else 0) else 0). split; [|split].
  - intros h r u; destruct (lt_dec h (n C)) as [Hh|]; [|lra]. pose proof (scaled_le (have h r) (need h r) (q h r u)
    (N0 h r Hh) (Q0 h r u)). destruct (Nat.eqb u k); [pose proof (Rmax_l 0 (need h r - have h r))|]; lra.
  - intros h r Hh Rr. destruct (lt_dec h (n C)) as [_|]; [|tauto].
    rewrite sum_plus, (scaled_sum (K C) (have h r) (need h r)); [|apply N0; auto|apply Qs; auto].
    rewrite (sum_only (K C) k (fun _ => Rmax 0 (need h r - have h r))) by auto. unfold need; minmax.
  - intros u j Uu J. assert (term : forall h r, (h < n C)%nat -> scaled (have h r) (need h r) (q h r u)
    * a C h r j <= q h r u * a C h r j).
    { intros h r Hh; apply Rmult_le_compat_r; [apply need_ge0; auto|apply scaled_le; auto]. }
    apply Rle_trans with ((Σ h < n C, Σ r < S t, scaled (have h r) (need h r) (q h r u) * a C h r j) +
      (Σ h < n C, Σ r < S t, (if Nat.eqb u k then e else 0) * a C h r j)).
    + rewrite <- sum_plus; apply sum_le; intros h Hh. rewrite <- sum_plus; apply sum_le; intros r _.
      destruct (lt_dec h (n C)) as [_|]; [|tauto]. pose proof (need_ge0 C M h r j). specialize (up h r Hh).
      destruct (Nat.eqb u k); nra.
    + specialize (Qc u j Uu J). destruct (Nat.eqb_spec u k) as [->|N].
      * assert (Ext : (Σ h < n C, Σ r < S t, e * a C h r j) = e * A j). { unfold A. rewrite Rmult_comm, <- sum_mul.
        apply sum_ext; intros h _. rewrite <- sum_mul; apply sum_ext; intros; lra. } rewrite Ext.
        assert (e * A j <= free * a C i s j) by (apply Rle_trans with (2 := Ok j J); apply Rmult_le_compat_r; auto).
        assert ((Σ h < n C, Σ r < S t, scaled (have h r) (need h r) (q h r k) * a C h r j) <= (Σ h < n C, Σ r < S t,
        q h r k * a C h r j) - free * a C i s j); [|lra]. apply (sum_gap (n C) _ _ i); auto; [intros h Hh; apply sum_le;
        intros; apply term; auto|]. apply (sum_gap (S t) _ _ s); auto.
        replace (q i s k * a C i s j - free * a C i s j) with ((q i s k - free) * a C i s j) by lra.
        apply Rmult_le_compat_r; [apply need_ge0; auto|]. unfold scaled. assert (Nd : need i s <= H - D / 2).
        { destruct (HV i I) as [V1 _]. unfold need, H, D in *. destruct (Rle_lt_dec (V i) (Y i)) as [L|L].
          - pose proof (part_step C i s (V i) (Y i) M L); lra.
          - pose proof (part_step C i s (Y i) (V i) M ltac:(lra)); lra. }
        change (have i s) with H. destruct (Rle_dec H (need i s)); [lra|]. unfold free.
        assert (need i s / H <= 1 - D / (2 * H)); [|nra]. apply Rmult_le_reg_r with H; [lra|].
        replace (need i s / H * H) with (need i s) by (field; lra).
        replace ((1 - D / (2 * H)) * H) with (H - D / 2) by (field; lra). auto.
      * rewrite (sum_zero (n C) (fun h => Σ r < S t, 0 * a C h r j)) by (intros; apply sum_zero; intros; lra).
        rewrite Rplus_0_r. apply Rle_trans with (2 := Qc). apply sum_le; intros h Hh; apply sum_le; intros; apply term;
        auto. Qed.
Lemma allowed_limits P g i : allowed P g -> (i < users P)%nat -> lower P i <= g i <= upper P i.
Proof. intros [[B _] L] I. specialize (B i I); specialize (L i I). unfold upper, position in *. lra. Qed.
Lemma possible_less P g g' : proper P -> possible P g -> (∀ i < users P, past P i <= g' i <= g i) -> possible P g'.
Proof. intros [M _] F L. apply fits_less with (position P g); auto. intros i I; specialize (L i I); unfold position.
  lra. Qed.
(* {lem-tv_drf-2} The exchange: a user that runs more than its floor is not ahead of an unfinished user. *)
Theorem not_ahead P g i h : proper P -> positive (C P) -> chosen P g -> (i < users P)%nat -> (h < users P)%nat ->
  g i < upper P i -> lower P h < g h -> g h <= g i.
Proof. intros Pr Po [Al Ch] I H U Lh. suppose G. destruct Pr as [M Low]. pose proof (Low h) as Lowh.
  set (y := fun k => if Nat.eqb k h then Rmax (lower P h) ((g h + g i) / 2) else g k).
  assert (yh : lower P h <= y h /\ g i < y h < g h). { unfold y; rewrite Nat.eqb_refl. minmax. }
  assert (yo : forall k, k <> h -> y k = g k) by (intros k N; unfold y; destruct (Nat.eqb_spec k h); [tauto|auto]).
  destruct (room_for_all (C P) (t P) (start P) (position P g) (position P y) h M Po (proj1 Al)) as [e [E Room]]; auto.
  { intros k Kk. pose proof (allowed_limits P g k Al Kk). pose proof (Low k). unfold position.
  destruct (Nat.eq_dec k h) as [->|N]; [|rewrite (yo k N)]; lra. } { unfold position; lra. }
  set (v := fun k => if Nat.eqb k i then g i + Rmin e (Rmin (upper P i - g i) (y h - g i)) else y k).
  assert (vi : g i < v i <= g i + e /\ v i <= upper P i /\ v i <= y h). { unfold v; rewrite Nat.eqb_refl. minmax. }
  assert (vo : forall k, k <> i -> v k = y k) by (intros k N; unfold v; destruct (Nat.eqb_spec k i); [tauto|auto]).
  assert (Nih : h <> i) by (intros ->; lra).
  assert (bounds : ∀ k < users P, lower P k <= v k <= y k + e /\ v k <= upper P k).
  { intros k Kk. pose proof (allowed_limits P g k Al Kk). destruct (Nat.eq_dec k i) as [->|Ni]; [rewrite (yo i) by auto;
  lra|]. rewrite (vo k Ni). destruct (Nat.eq_dec k h) as [->|Nh]; [lra|rewrite (yo k Nh); lra]. } apply (Ch v).
  - split; [|intros k Kk; apply bounds; auto]. apply Room. intros k Kk. specialize (bounds k Kk). pose proof (Low k).
    unfold position, upper in *. lra.
  - apply (swap_is_larger (users P) g v h i); auto; [|rewrite (vo h Nih); lra]. intros k Nh Ni; rewrite (vo k Ni); auto.
    Qed.
(* {thm-tv_drf-2} No allocation that fits gives some user more and nobody less. The lower limits are those of any
   reading, and zeros are included. *)
Theorem nothing_better P g z i : chosen P g -> possible P z -> (∀ h < users P, g h <= z h) -> (i < users P)%nat ->
  z i <= g i.
Proof. intros [Al Ch] F L I. suppose G. apply (Ch z).
  - split; auto. intros h H; pose proof (allowed_limits P g h Al H); specialize (L h H); lra.
  - apply (more_is_larger (users P) g z i); auto. Qed.
(* {model} *)
(* By resources beta = 1 can be out of reach: first the beta up to 1 are made max-min, then G.
   beta i x: of user i at level x *)
Definition up_to_1 (beta : nat -> R -> R) (g : nat -> R) i := Rmin 1 (beta i (g i)).
Definition chosen_by_resources P beta g := possible P g /\
  (forall z, possible P z -> ~ lexicographically_less (sort (users P) (up_to_1 beta g)) (sort (users P)
    (up_to_1 beta z))) /\
  (forall z, possible P z -> (∀ i < users P, up_to_1 beta z i = up_to_1 beta g i) ->
    ~ lexicographically_less (sort (users P) g) (sort (users P) z)).
(* {end} *)

(* {thm-tv_drf-2} The same, if "alone" is counted by resources *)
Theorem nothing_better_by_resources P beta g z i : (forall h x x', x <= x' -> beta h x <= beta h x') ->
  chosen_by_resources P beta g -> possible P z -> (∀ h < users P, g h <= z h) -> (i < users P)%nat -> z i <= g i.
Proof. intros Mono [F [C1 C2]] Fz Le I. suppose lt. assert (up : ∀ h < users P, up_to_1 beta g h <= up_to_1 beta z h)
  by (intros h H; apply Rle_min_compat_l, Mono; auto). destruct (some_or_none (users P) (up_to_1 beta g)
  (up_to_1 beta z)) as [[h [H L]]|same].
  - apply (C1 z Fz), (more_is_larger (users P) (up_to_1 beta g) (up_to_1 beta z) h); auto.
  - apply (C2 z Fz); [intros h H; apply Rle_antisym; auto|]. apply (more_is_larger (users P) g z i); auto. Qed.
Lemma level_mono P L L' i : L <= L' -> level P L i <= level P L' i.
Proof. intros H; unfold level; minmax. Qed.
Lemma le_limit x y k : 0 <= k -> (forall d, 0 < d -> x <= y + d * k) -> x <= y.
Proof. intros K H. suppose G. assert (D : 0 < (x - y) / (k + 1)) by (apply Rdiv_lt_0_compat; lra).
  specialize (H _ D). assert ((x - y) / (k + 1) * (k + 1) = x - y) by (field; lra). lra. Qed.
(* What comes near to something for each d comes near to one and the same. *)
Lemma limit {T} (eq_T : forall e f : T, {e = f} + {e <> f}) es (A : R -> (T -> R) -> Prop) B :
  (forall d d' q, d <= d' -> A d q -> A d' q) -> (forall d, 0 < d -> ~ forall q, ~ A d q) ->
  (forall d q e, A d q -> In e es -> 0 <= q e <= B e) ->
  exists l, forall d, 0 < d -> ~ forall q, A d q -> ~ forall e, In e es -> l e - d <= q e <= l e + d.
Proof. intros Mono Ex. induction es as [|e0 es IH]; intros Bd; [exists B; intros d D N; apply (Ex d D); intros q Q;
  apply (N q Q); intros e []|]. destruct IH as [l L]; [intros; eapply Bd; [eauto|right; auto]|].
  set (near d q := A d q /\ forall e, In e es -> l e - d <= q e <= l e + d).
  assert (Nm : forall d d' q, d <= d' -> near d q -> near d' q).
  { intros d d' q Le [Q E]. split; [apply (Mono d); auto|intros e I; specialize (E e I); lra]. }
  destruct (completeness (fun u => forall d, 0 < d -> ~ forall q, near d q -> q e0 < u)) as [y [Ub Lub]].
  - exists (B e0). intros u U. suppose G. apply (U 1 Rlt_0_1). intros q [Q _].
    specialize (Bd 1 q e0 Q (or_introl eq_refl)). lra.
  - exists 0. intros d D N. apply (L d D). intros q Q E. specialize (N q (conj Q E)).
    specialize (Bd d q e0 Q (or_introl eq_refl)). lra.
  - exists (fun e => if eq_T e e0 then y else l e). intros d D N. assert (y <= y - d); [|lra]. apply Lub. intros u U.
    suppose G. assert (y + d <= y); [|lra]. apply Ub. intros d' D' N'. apply (U (Rmin d' d)); [apply Rmin_glb_lt;
    auto|]. intros q Q. suppose G'. specialize (N' q (Nm _ d' q (Rmin_l _ _) Q)). apply (Nm _ d q (Rmin_r _ _)) in Q as
    [Q E]. apply (N q Q). intros e I. destruct (eq_T e e0) as [->|D0]; [lra|]. destruct I as [->|I]; [tauto|auto]. Qed.
(* What fits is a closed set. *)
Lemma fits_closed C t X Z : model C -> (forall d, 0 < d -> ~ forall Z', fits C t X Z' ->
  ~ ∀ i < n C, Z i - d <= Z' i <= Z i + d) -> fits C t X Z.
Proof. intros M H. set (A := fun d (q : nat * (nat * nat) -> R) => exists Z', (∀ i < n C, Z i - d <= Z' i <= Z i + d) /\
  (∀ i < n C, 0 <= X i <= Z' i /\ Z' i <= submitted C i (S t)) /\ places C t X Z' (fun i s k => q (i, (s, k)))).
  assert (pair : forall e f : nat * (nat * nat), {e = f} + {e <> f}) by (repeat decide equality).
  destruct (limit pair (list_prod (seq 0 (n C)) (list_prod (seq 0 (S t)) (seq 0 (K C)))) A
    (fun e => size C (fst e) (fst (snd e)))) as [l L].
  - intros d d' q D [Z' [N Q]]. exists Z'. split; [intros i I; specialize (N i I); lra|exact Q].
  - intros d D N. apply (H d D). intros Z' [B [q Q]] Nz. apply (N (fun e => q (fst e) (fst (snd e)) (snd (snd e)))).
    exists Z'. auto.
  - intros d q [i [s k]] [Z' [_ [B [Q0 [Qs _]]]]] I. rewrite !in_prod_iff, !in_seq in I. split; [apply (Q0 i s k)|].
    simpl. apply Rle_trans with (Σ k < K C, q (i, (s, k))); [apply (sum_term (K C) (fun k => q (i, (s, k)))); [intros;
    apply Q0|lia]|]. rewrite Qs by lia. unfold part. pose proof (size_ge0 C M i s). minmax.
  - set (q := fun i s k => Rmax 0 (l (i, (s, k)))). assert (near : forall x y k, 0 <= k -> (forall d Z' q', 0 < d ->
      (∀ i < n C, Z i - d <= Z' i <= Z i + d) -> (∀ i < n C, 0 <= X i <= Z' i /\ Z' i <= submitted C i (S t)) ->
      places C t X Z' q' -> (forall i s k, (i < n C)%nat -> (s < S t)%nat -> (k < K C)%nat -> q i s k - d <= q' i s k <=
      q i s k + d) -> x <= y + d * k) -> x <= y).
    { intros x y k K0 F. apply (le_limit x y k K0). intros d D. suppose G. apply (L d D). intros q' [Z' [N [B Q]]] E.
      revert G. apply Rle_not_lt, (F d Z' (fun i s k => q' (i, (s, k))) D N B Q). intros i s u I Hs Hu.
      specialize (E (i, (s, u))). rewrite !in_prod_iff, !in_seq in E. specialize (E ltac:(lia)). simpl in E.
      pose proof (proj1 Q i s u). unfold q. minmax. }
    assert (Lip : forall i s d x z, z - d <= x <= z + d -> part C i s z - d <= part C i s x <= part C i s z + d).
    { intros i s d x z D. destruct (Rle_lt_dec x z) as [Le|Lt]; [pose proof (part_step C i s x z M Le)|pose proof
      (part_step C i s z x M ltac:(lra))]; lra. }
    assert (const : forall N d f, (Σ k < N, (f k + d)) = sum N f + INR N * d) by (intros; rewrite sum_plus, sum_const;
      auto).
    split; [intros i I; split; [split|]|exists q; split; [intros; apply Rmax_l|split]].
    + apply (near 0 (X i) 0); [lra|]. intros d Z' q' D Nz B _ _. specialize (B i I). lra.
    + apply (near (X i) (Z i) 1); [lra|]. intros d Z' q' D Nz B _ _. specialize (B i I); specialize (Nz i I). lra.
    + apply (near (Z i) (submitted C i (S t)) 1); [lra|]. intros d Z' q' D Nz B _ _. specialize (B i I); specialize (Nz
      i I). lra.
    + intros i s I Hs. pose proof (pos_INR (K C)). apply Rle_antisym; apply (near _ _ (INR (K C) + 1)); try lra;
      intros d Z' q' D Nz _ [_ [Qs _]] E; specialize (Qs i s I Hs); pose proof (Lip i s d _ _ (Nz i I)).
      * apply Rle_trans with (Σ k < K C, (q' i s k + d)); [apply sum_le; intros k Kk; specialize (E i s k I Hs Kk);
        lra|]. rewrite (const (K C) d (fun k => q' i s k)), Qs. lra.
      * assert (Le : (Σ k < K C, q' i s k) <= Σ k < K C, (q i s k + d)) by (apply sum_le; intros k Kk; specialize (E i s
        k I Hs Kk); lra). rewrite (const (K C) d (fun k => q i s k)), Qs in Le. lra.
    + intros k j Kk J. apply (near _ _ (Σ i < n C, Σ s < S t, a C i s j)); [apply sum_ge0; intros; apply sum_ge0;
      intros; apply need_ge0; auto|]. intros d Z' q' D _ _ [_ [_ Qc]] E. apply Rle_trans with (2 := Rplus_le_compat_r _
      _ _ (Qc k j Kk J)). rewrite Rmult_comm, <- sum_mul, <- sum_plus. apply sum_le; intros i I. rewrite <- sum_mul, <-
      sum_plus. apply sum_le; intros s Hs. specialize (E i s k I Hs Kk). pose proof (need_ge0 C M i s j). nra. Qed.
(* {model} *)
(* L is the largest level that fits; or all fit, and it is as large as any. *)
Definition fits_up_to P L := possible P (level P L) /\ ((∀ i < users P, upper P i <= L) \/
  forall L', possible P (level P L') -> L' <= L).
(* {end} *)
Lemma limits_fit P L i : proper P -> possible P (lower P) -> (i < users P)%nat -> past P i <= level P L i <= upper P i
  /\ lower P i <= upper P i.
Proof. intros [_ Low] [B _] I. specialize (B i I). specialize (Low i). unfold level, upper, position in *. minmax. Qed.
Lemma some_upper P : exists b, ∀ i < users P, upper P i <= b /\ - b <= lower P i.
Proof. destruct (highest (users P) (fun i => Rmax (upper P i) (- lower P i))) as [b B]. exists b. intros i I.
  specialize (B i I). simpl in B. pose proof (Rmax_l (upper P i) (- lower P i)); pose proof (Rmax_r (upper P i) (- lower
  P i)); lra. Qed.
(* {lem-tv_drf-1} Part 1: if the lower limits fit, either all levels fit, or there is a largest one that does. *)
Theorem largest_level P : proper P -> possible P (lower P) -> (forall L, possible P (level P L)) \/ exists L,
  possible P (level P L) /\ forall L', possible P (level P L') -> L' <= L.
Proof. intros Pr Po. assert (less : forall g g', possible P g -> (∀ i < users P, past P i <= g' i <= g i) ->
  possible P g') by (intros; apply (possible_less P g); auto). destruct (some_upper P) as [b B].
  assert (closed : forall g, (forall d, 0 < d -> ~ forall g', possible P g' -> ~ ∀ i < users P, g i - d <= g' i <= g i +
    d) -> possible P g).
  { intros g N. apply (fits_closed (C P) (t P) (start P) (position P g) (proj1 Pr)). intros d D H. apply (N d D).
    intros g' F E. apply (H (position P g') F). intros i I. specialize (E i I). unfold position. lra. }
  destruct (sig_not_dec (possible P (upper P))) as [Y|No].
  - left. intros L. apply (less (upper P)); [|intros i I; apply (limits_fit P L i); auto]. apply closed. intros d D N.
    apply Y. intros F. apply (N _ F). intros; lra.
  - right. destruct (completeness (fun L => possible P (level P L))) as [L [Ub Lub]].
    + exists b. intros L F. suppose G. apply No, (less (level P L) _ F). intros i I. specialize (B i I).
      pose proof (limits_fit P L i Pr Po I). unfold level in *. minmax.
    + exists (- b). apply (less (lower P) _ Po). intros i I. specialize (B i I). pose proof (limits_fit P (-b) i Pr Po
      I). unfold level in *. minmax.
    + exists L. split; [|exact Ub]. apply closed. intros d D N. assert (L <= L - d); [|lra]. apply Lub. intros L' F.
      suppose G. apply (N _ F). specialize (Ub L' F). intros i I. unfold level. minmax. Qed.
(* {lem-tv_drf-1} Part 2: the levels of that L are the one choice that the rule allows. *)
Theorem level_is_chosen P L : proper P -> positive (C P) -> possible P (lower P) -> fits_up_to P L ->
  chosen P (level P L) /\ forall g, chosen P g -> ∀ i < users P, g i = level P L i.
Proof. intros Pr Po Pl [F U]. assert (Al : allowed P (level P L)). { split; [auto|]. intros i I.
  destruct (limits_fit P L i Pr Pl I). unfold level in *. minmax. }
  assert (Mm : max_min (users P) (allowed P) (level P L)).
  { intros g' Al' i I G. pose proof (allowed_limits P g' i Al' I) as Gi. destruct (dec_ex (users P) (fun h => g' h <
    level P L h /\ level P L h <= level P L i)) as [[h [H [Lt Le]]]|N]; [intros h; destruct (Rlt_dec (g' h) (level P L
    h)), (Rle_dec (level P L h) (level P L i)); tauto|exists h; auto|exfalso].
    assert (Li : L <= level P L i) by (unfold level in *; minmax). destruct U as [U|U]; [specialize (U i I); lra|].
    assert (up : ∀ h < users P, level P L h <= g' h). { intros h H. destruct (Rle_lt_dec (level P L h) (level P L i)) as
      [Le|Lt]; [suppose G'; apply N; exists h; auto|]. pose proof (allowed_limits P g' h Al' H). unfold level in *.
      minmax.
      }
    destruct (room_for_all (C P) (t P) (start P) (position P g') (position P (level P L)) i (proj1 Pr) Po (proj1 Al'))
      as [e [E Room]]; [|auto|unfold position; lra|].
    { intros h H. destruct (limits_fit P L h Pr Pl H). specialize (up h H). unfold position. lra. }
    assert (L + e <= L); [|lra]. apply U, Room. intros h H. destruct (limits_fit P (L + e) h Pr Pl H) as [B _].
    assert (level P (L + e) h <= level P L h + e) by (unfold level; minmax). unfold position, upper in *. lra. }
  assert (Ch : chosen P (level P L)) by (split; [auto|apply max_min_is_leximin; auto]). split; [auto|].
  intros g [Al' Ch'] i I. symmetry. apply (only_one (users P) (allowed P)); auto. Qed.
Lemma one_level P g : proper P -> positive (C P) -> chosen P g -> exists L, (∀ i < users P, g i = level P L i) /\
  forall L', possible P (level P L') -> ∀ i < users P, level P L' i <= g i.
Proof. intros Pr Po Ch. assert (Pl : possible P (lower P)) by (apply (possible_less P g _ Pr (proj1 (proj1 Ch))); intros
  i I; split; [apply Pr|apply (allowed_limits P g i (proj1 Ch) I)]). assert (H : exists L, fits_up_to P L).
  { destruct (largest_level P Pr Pl) as [All|[L [F U]]]; [|exists L; split; auto]. destruct (some_upper P) as [b B].
    exists b. split; [auto|left; intros i I; apply B; auto]. }
  destruct H as [L F]. destruct (level_is_chosen P L Pr Po Pl F) as [_ E]. exists L. split; [auto|]. intros L' F' i I.
  rewrite (E g Ch i I). destruct F as [_ [U|U]]; [specialize (U i I)|specialize (U L' F')]; unfold level; minmax. Qed.
(* {whole} thm-tv_drf-1 prop-tv_drf-tasks *)
