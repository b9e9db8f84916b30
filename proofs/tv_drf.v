(* TV-DRF: the machines and the queues, a period with the past given, and Algorithm 1 on one machine. *)
From proofs Require Import sums lemmas.
From proofs Require foundations.
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
(* {lem-tv_drf-1} Part 2: the allocation chosen is that of one level, the largest that fits. *)
Theorem one_level P g : proper P -> positive (C P) -> chosen P g -> exists L, (∀ i < users P, g i = level P L i) /\
  forall L', possible P (level P L') -> ∀ i < users P, level P L' i <= g i.
Proof. intros Pr Po Ch. pose proof Ch as [Al _]. assert (H : exists L, (∀ i < users P, lower P i < g i -> g i <= L) /\
  (∀ i < users P, g i < upper P i -> L <= g i)).
  { destruct (dec_ex (users P) (fun h => lower P h < g h)) as [Y|N]; [intros h; destruct (Rlt_dec (lower P h) (g h));
    auto| |].
    - destruct (least (users P) (fun h => lower P h < g h) (fun h => - g h)) as [h [Hh [G Mx]]]; auto.
      { intros k; destruct (Rlt_dec (lower P k) (g k)); auto. } exists (g h); split; [intros i I Gi;
      specialize (Mx i I Gi); simpl in Mx; lra|]. intros i I U. apply (not_ahead P g i h Pr Po Ch I Hh U G).
    - destruct (Nat.eq_dec (users P) 0) as [Z|NZ]; [exists 0; split; intros i I; lia|].
      destruct (least (users P) (fun _ => True) g) as [h [Hh [_ Mn]]]; [left; auto|exists O; split; [lia|auto]|].
      exists (g h); split; [intros i I Gi; exfalso; apply N; exists i; auto|intros i I _; apply Mn; auto]. }
  destruct H as [L [Hi Lo]]. exists L. assert (E : ∀ i < users P, g i = level P L i).
  { intros i I. pose proof (allowed_limits P g i Al I). specialize (Hi i I). specialize (Lo i I).
    unfold level, Rmin, Rmax. repeat destruct (Rle_dec _ _); try lra.
    all: destruct (Rle_lt_or_eq_dec (lower P i) (g i) ltac:(lra)); destruct (Rle_lt_or_eq_dec (g i) (upper P i)
      ltac:(lra)); lra. }
  split; [auto|]. intros L' F i I. destruct (Rle_lt_dec L' L) as [Le|G]; [rewrite (E i I); apply level_mono; auto|].
  apply (nothing_better P g (level P L') i); auto. intros h Hh; rewrite (E h Hh); apply level_mono; lra. Qed.
(* {lem-tv_drf-1} Part 1, where there is an optimum: either all levels fit, or there is a largest one that does. *)
Theorem largest_level P g : proper P -> positive (C P) -> chosen P g -> (forall L, possible P (level P L)) \/ exists L,
  possible P (level P L) /\ forall L', possible P (level P L') -> L' <= L.
Proof. intros Pr Po Ch. pose proof Ch as [Al _]. destruct (one_level P g Pr Po Ch) as [_ [_ Big]].
  assert (below : forall L, (∀ i < users P, g i < upper P i -> Rmax L (lower P i) <= g i) -> possible P (level P L)).
  { intros L H; apply (possible_less P g _ Pr (proj1 Al)). intros i I. pose proof (allowed_limits P g i Al I).
  destruct Pr as [_ Low]. specialize (Low i). unfold level. split; [apply Rmin_glb; [apply Rle_trans with (lower P i);
  [auto|apply Rmax_r]|lra]|]. destruct (Rlt_le_dec (g i) (upper P i)) as [U|U]; [apply Rle_trans with (1 := Rmin_l _ _);
  apply H; auto|apply Rle_trans with (1 := Rmin_r _ _); auto]. } destruct (dec_ex (users P) (fun i => g i < upper P i))
  as [Y|N]; [intros i; destruct (Rlt_dec (g i) (upper P i)); auto| |].
  - right. destruct (least (users P) (fun i => g i < upper P i) g) as [i [I [U Mn]]]; auto; [intros h;
    destruct (Rlt_dec (g h) (upper P h)); auto|]. exists (g i); split.
    + apply below. intros h H Uh. apply Rmax_lub; [apply Mn; auto|apply (allowed_limits P g h Al H)].
    + intros L' F. specialize (Big L' F i I). unfold level, Rmin, Rmax in Big. repeat destruct (Rle_dec _ _); lra.
  - left; intros L; apply below. intros i I U; exfalso; apply N; exists i; auto. Qed.
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
  destruct (small_step (m (C P)) (fun j e => held j + e * a (C P) i s j <= c (C P) k j)) as [e0 [E0 Ok]].
  { intros j J. pose proof (need_ge0 (C P) M i s j). assert (Le : held j <= c (C P) k j) by (apply Qc; auto).
    destruct (Rle_lt_or_eq_dec 0 (a (C P) i s j)) as [A|Z]; auto; [|exists 1; split; [lra|rewrite <- Z; lra]].
    destruct (Rle_lt_or_eq_dec _ _ Le) as [G|E]; [|exfalso; apply N; exists j; auto].
    exists ((c (C P) k j - held j) / a (C P) i s j). split; [apply Rdiv_lt_0_compat; lra|apply Req_le; field; lra]. }
  { intros j x z X Z; pose proof (need_ge0 (C P) M i s j); nra. } set (e := Rmin e0 (submitted (C P) i (S s)
  - position P g i)). pose proof (Rmin_l e0 (submitted (C P) i (S s) - position P g i)).
  pose proof (Rmin_r e0 (submitted (C P) i (S s) - position P g i)). assert (E : 0 < e) by (apply Rmin_glb_lt; lra).
  fold e in H, H0. set (v := fun h => if Nat.eqb h i then g h + e else g h).
  assert (Pos : forall h, position P v h = if Nat.eqb h i then position P g h + e else position P g h).
  { intros h; unfold position, v; destruct (Nat.eqb h i); lra. } assert (Step :
  forall r, part (C P) i r (position P g i + e) = part (C P) i r (position P g i) + if Nat.eqb r s then e else 0).
  { intros r; unfold part. pose proof (size_ge0 (C P) M i r). destruct (Nat.eqb_spec r s) as [->|Nr].
    - unfold submitted in *; simpl in *. minmax.
    - destruct (le_lt_dec r s) as [L|L].
      + assert (B : submitted (C P) i (S r) <= submitted (C P) i s) by (apply submitted_mono; auto; lia).
        unfold submitted in *; simpl in *. minmax.
      + assert (B : submitted (C P) i (S s) <= submitted (C P) i r) by (apply submitted_mono; auto; lia). minmax. }
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
(* {whole} thm-tv_drf-1 thm-tv_drf-2 thm-tv_drf-3 lem-tv_drf-2 prop-tv_drf-tasks
   prop-tv_drf-memoryless *)
