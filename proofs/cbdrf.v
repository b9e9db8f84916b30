(* cbDRF: one phase under records, and the record itself. *)
From Coq Require Import FunctionalExtensionality.
From proofs Require Import sums foundations.
Local Open Scope R_scope.
(* {model} *)
Record phase := Phase {
  n : nat; m : nat;             (* nodes and resources, numbered from 0 *)
  present : nat -> bool;        (* who needs something in this phase *)
  d : nat -> nat -> R;          (* what node i takes of resource j per unit of its dominant share *)
  psi : nat -> R                (* credit factor *)
}.

Record model (P : phase) : Prop := {
  demand_ge0 : forall i j, 0 <= d P i j;
  demand_le1 : forall i j, d P i j <= 1;
  dominant : ∀ i < n P, present P i = true -> ∃ k < m P, d P i k = 1;
  some_resource : (0 < m P)%nat;
  factor : forall i, 0 <= psi P i <= 1
}.
Definition positive P := forall i j, (i < n P)%nat -> present P i = true -> (j < m P)%nat -> 0 < d P i j.

Inductive rule := Drf | Scaled | Weighted | Capped.

(* number of the nodes that are present; alone, each would have the dominant share 1 / number *)
Definition number P := Σ i < n P, if present P i then 1 else 0.
Definition weight (r : rule) P i := if present P i then match r with Weighted => psi P i | _ => 1 end else 0.
Definition cap (r : rule) P i : option R := if present P i then match r with
  | Weighted => if Req_EM_T (psi P i) 0 then Some 0 else None
  | Capped => if Req_EM_T (psi P i) 1 then None else Some (psi P i / number P)
  | _ => None end else Some 0.
Definition as_pool (r : rule) P := Pool (n P) (m P) (fun i j => weight r P i * d P i j) (weight r P) (cap r P).

(* y are the levels of DRF in the pool of the rule; s are the dominant shares that it grants *)
Definition levels r P y := feasible (as_pool r P) y /\ certified (as_pool r P) y.
Definition share (r : rule) P (y : nat -> R) i := match r with Scaled => psi P i * (if present P i then y i else 0)
  | _ => weight r P i * y i end.

(* what node i can do with a bundle: every dominant share v that there is room for *)
Definition room P i (bundle : nat -> R) v := ∀ j < m P, d P i j * v <= bundle j.

(* The same phase with another record of node i *)
Definition with_record P i c := Phase (n P) (m P) (present P) (d P) (fun h => if Nat.eqb h i then c else psi P h).
(* No bundles x that fit into the pool give some node more and none less. *)
Definition pareto P (limit : nat -> R -> Prop) (s : nat -> R) := forall x v,
  (∀ j < m P, (Σ h < n P, if present P h then x h j else 0) <= 1) ->
  (∀ h < n P, present P h = true -> room P h (x h) (v h) /\ limit h (v h) /\ s h <= v h) ->
  ∀ i < n P, present P i = true -> v i <= s i.
Definition no_limit (_ : nat) (_ : R) := True.
Definition within_caps P h v := psi P h < 1 -> v <= psi P h / number P.
Definition sum_of_factors P := Σ h < n P, weight Weighted P h.
(* x is 1 over the largest sum: all sums times x are at most 1, and one of them is 1. *)
Definition one_over_largest m (f : nat -> R) x := (∀ j < m, f j * x <= 1) /\ ∃ j < m, f j * x = 1.
Definition of_all P j := Σ i < n P, if present P i then d P i j else 0.
Definition by_factor P j := Σ i < n P, if present P i then psi P i * d P i j else 0.
(* {end} *)
Ltac positive_at D i j := specialize (D i j ltac:(auto) ltac:(auto) ltac:(auto)).
Lemma weight_ge0 r P i : model P -> 0 <= weight r P i.
Proof. intros M; unfold weight; destruct (present P i); [|lra]. pose proof (factor P M i). destruct r; lra. Qed.
Lemma number_ge1 P i : (i < n P)%nat -> present P i = true -> 1 <= number P.
Proof. intros I H. replace 1 with (if present P i then 1 else 0) by (rewrite H; auto).
  apply (sum_term (n P) (fun h => if present P h then 1 else 0)); auto. intros h _; destruct (present P h); lra. Qed.
(* {lem-cbdrf-grants} {thm-cbdrf-capped} The pool of each rule is one of Foundations, so what is proved there holds of
   it. *)
Theorem pool_model r P : model P -> foundations.model (as_pool r P).
Proof. intros M; split; simpl.
  - intros; apply weight_ge0; auto.
  - intros i I; unfold weight, cap. destruct (present P i); [|auto].
    destruct r; intros W; try lra. destruct (Req_EM_T (psi P i) 0); [auto|lra].
  - intros i j; apply Rmult_le_pos; [apply weight_ge0; auto|apply demand_ge0; auto].
  - intros i j _. pose proof (weight_ge0 r P i M); pose proof (demand_le1 P M i j); pose proof (demand_ge0 P M i j).
    nra.
  - intros i I. destruct (present P i) eqn:H.
    + destruct (dominant P M i I H) as [k [K D]]; exists k; split; [auto|rewrite D; lra].
    + exists O; split; [apply some_resource; auto|]. unfold weight; rewrite H; lra.
  - intros i I; unfold within, cap. destruct (present P i) eqn:H; [|lra].
    destruct r; auto; [destruct (Req_EM_T (psi P i) 0); auto; lra|]. destruct (Req_EM_T (psi P i) 1); auto.
    pose proof (factor P M i); pose proof (number_ge1 P i I H). apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat;
    lra]. Qed.
(* {lem-cbdrf-grants} Each rule has a grant, and DRF grants at least the equal split. *)
Theorem grants_exist r P : model P -> exists y, levels r P y.
Proof. intros M; apply filling, pool_model; auto. Qed.
Lemma level_ge0 r P y i : levels r P y -> (i < n P)%nat -> 0 <= y i.
Proof. intros [[Y _] _] I; apply Y; auto. Qed.
Lemma no_cap r P i : present P i = true -> (r = Weighted -> psi P i <> 0) -> (r = Capped -> psi P i = 1) ->
  cap r P i = None.
Proof. intros H W C. unfold cap; rewrite H; destruct r; auto; destruct (Req_EM_T _ _); tauto. Qed.
(* Whom no cap stops, a resource does; with positive demands nobody stands higher. *)
Lemma limited r P y i : levels r P y -> (i < n P)%nat -> cap r P i = None ->
  ∃ j < m P, use (as_pool r P) y j = 1 /\ (positive P -> ∀ h < n P, 0 < weight r P h -> y h <= y i).
Proof. intros [_ C] I Free. destruct (C i I) as [E|[j [J [U [_ B]]]]]; [simpl in E; congruence|]. exists j.
  split; [auto|split; [auto|]]. intros D h K W. apply B; auto. apply Rmult_lt_0_compat, D; auto. unfold weight in W.
  destruct (present P h); [auto|lra]. Qed.
Lemma one_level r P y i h : levels r P y -> positive P -> (i < n P)%nat -> cap r P i = None -> (h < n P)%nat ->
  0 < weight r P h -> y h <= y i.
Proof. intros L D I Free. destruct (limited r P y i L I Free) as [_ [_ [_ B]]]. apply B, D. Qed.
Lemma total r P : (r = Drf \/ r = Scaled \/ r = Capped) -> (Σ i < n P, weight r P i) = number P.
Proof. intros R; unfold number, weight; apply sum_ext; intros i _; destruct (present P i); [|auto]; intuition subst;
  auto. Qed.
Lemma split_ok P i : (i < n P)%nat -> present P i = true -> 1 / number P * number P <= 1 /\ 0 < 1 / number P.
Proof. intros I H; pose proof (number_ge1 P i I H). split; [apply Req_le; field; lra|].
  unfold Rdiv; rewrite Rmult_1_l; apply Rinv_0_lt_compat; lra. Qed.
Theorem equal_split P y i : model P -> levels Drf P y -> (i < n P)%nat -> present P i = true -> 1 / number P <= y i.
Proof. intros M [F C] I H. apply (sharing_incentive (as_pool Drf P) y i); auto; [apply pool_model; auto|simpl|].
  - rewrite no_cap by (auto; discriminate). exact Logic.I.
  - change (1 / number P * (Σ h < n P, weight Drf P h) <= 1). rewrite total by auto. apply (split_ok P i I H). Qed.
(* {lem-cbdrf-grants} {thm-cbdrf-capped} With any demands, a punished node gets exactly psi / number (part 1 of the
   theorem). *)
Theorem capped_punished P y i : model P -> levels Capped P y -> (i < n P)%nat -> present P i = true -> psi P i < 1 ->
  share Capped P y i = psi P i / number P.
Proof. intros M [F C] I H L. unfold share, weight; rewrite H. rewrite Rmult_1_l.
  assert (E : b (as_pool Capped P) i = Some (psi P i / number P)).
  { simpl; unfold cap; rewrite H; destruct (Req_EM_T (psi P i) 1); [lra|auto]. }
  apply Rle_antisym; [destruct F as [_ [B _]]; specialize (B i I); rewrite E in B; exact B|].
  apply (sharing_incentive (as_pool Capped P) y i); auto; [apply pool_model; auto|rewrite E; simpl; lra|].
  change (psi P i / number P * (Σ h < n P, weight Capped P h) <= 1). rewrite total by auto.
  pose proof (number_ge1 P i I H). unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. lra. Qed.
(* {lem-cbdrf-grants} {thm-cbdrf-capped} A node in good standing gets at least 1 / number. *)
Theorem capped_good P y i : model P -> levels Capped P y -> (i < n P)%nat -> present P i = true -> psi P i = 1 ->
  1 / number P <= share Capped P y i.
Proof. intros M [F C] I H L. unfold share, weight; rewrite H, Rmult_1_l.
  apply (sharing_incentive (as_pool Capped P) y i); auto; [apply pool_model; auto| |].
  - simpl; rewrite no_cap by (auto; discriminate). exact Logic.I.
  - change (1 / number P * (Σ h < n P, weight Capped P h) <= 1). rewrite total by auto. apply (split_ok P i I H). Qed.
(* The levels of the scaled rule are those of DRF. *)
Lemma scaled_is_drf P y : levels Scaled P y <-> levels Drf P y.
Proof. tauto. Qed.
Lemma absent r P y i : levels r P y -> (i < n P)%nat -> present P i = false -> y i = 0.
Proof. intros [[Y [B _]] _] I H. specialize (Y i I); specialize (B i I); simpl in B; unfold cap in B; rewrite H in B;
  simpl in B; lra. Qed.
(* {prop-cbdrf-scaled-si} A node has at least its credit factor times its equal split. *)
Theorem scaled_by_record P y i : model P -> levels Scaled P y -> (i < n P)%nat -> present P i = true ->
  psi P i * (1 / number P) <= share Scaled P y i /\ (psi P i = 1 -> share Scaled P y i = share Drf P y i).
Proof. intros M L I H. apply scaled_is_drf in L. pose proof (equal_split P y i M L I H). pose proof (factor P M i).
  unfold share, weight; rewrite H. split; [nra|intros ->; lra]. Qed.
(* {thm-cbdrf-3} {thm-cbdrf-capped} Part 1: a punished node gets less than DRF would give it. *)
Theorem punished_gets_less P y z i : model P -> (i < n P)%nat -> present P i = true -> psi P i < 1 -> levels Drf P y ->
  share Scaled P y i < share Drf P y i /\ (levels Capped P z -> share Capped P z i < share Drf P y i).
Proof. intros M I H L Ly. pose proof (equal_split P y i M Ly I H) as E. destruct (split_ok P i I H) as [_ S].
  pose proof (factor P M i). split; [unfold share, weight; rewrite H; nra|]. intros Lz.
  rewrite (capped_punished P z i) by auto. unfold share, weight; rewrite H. unfold Rdiv in *. nra. Qed.
Lemma with_record_model P i c : model P -> 0 <= c <= 1 -> model (with_record P i c).
Proof. intros [D0 D1 Do S F] C; split; simpl; auto. intros h; destruct (Nat.eqb h i); auto. Qed.
(* {thm-cbdrf-3} Part 2: a punished node gets less than it would with a clean record. *)
Theorem less_than_with_a_clean_record P y z z' i : model P -> (i < n P)%nat -> present P i = true -> psi P i < 1 ->
  levels Scaled P y -> share Scaled P y i < share Scaled (with_record P i 1) y i /\ (levels Capped P z ->
  levels Capped (with_record P i 1) z' -> share Capped P z i < share Capped (with_record P i 1) z' i).
Proof. intros M I H L Ly. apply scaled_is_drf in Ly. pose proof (equal_split P y i M Ly I H) as E.
  destruct (split_ok P i I H) as [_ S]. pose proof (factor P M i).
  split; [unfold share; simpl; rewrite H, Nat.eqb_refl; nra|]. intros Lz Lz'. rewrite (capped_punished P z i) by auto.
  assert (M' : model (with_record P i 1)) by (apply with_record_model; auto; lra).
  pose proof (capped_good (with_record P i 1) z' i M' Lz' I H) as G. simpl in G; rewrite Nat.eqb_refl in G.
  specialize (G eq_refl). apply Rlt_le_trans with (2 := G). unfold number in *; simpl. unfold Rdiv in *; nra. Qed.
(* {thm-cbdrf-4} {thm-cbdrf-capped} Nobody envies a node whose record is no better; node i could have the share v with
   the bundle of h. *)
Theorem no_envy r P y i h v : model P -> levels r P y -> (i < n P)%nat -> (h < n P)%nat -> present P i = true ->
  present P h = true -> psi P h <= psi P i -> room P i (fun j => share r P y h * d P h j) v -> v <= share r P y i.
Proof. intros M L I K Hi Hh Rec Rm. pose proof (pool_model r P M) as PM. destruct L as [F C].
  pose proof (factor P M i); pose proof (factor P M h). assert (Yh := proj1 F h K); assert (Yi := proj1 F i I).
  destruct (dominant P M i I Hi) as [k [K1 Dk]].
  (* what holds for the levels alone: envy-freeness between i and h in the pool of the rule *)
  assert (EF : forall z, 0 < weight r P h -> within z (b (as_pool r P) i) ->
  (∀ j < m P, weight r P i * d P i j * z <= weight r P i / weight r P h * (weight r P h * d P h j * y h)) -> z <= y i).
  { intros z W B Q. apply (envy_freeness (as_pool r P) y i h z); auto. }
  assert (Vk : v <= share r P y h * d P h k) by (specialize (Rm k K1); rewrite Dk in Rm; lra).
  pose proof (demand_le1 P M h k) as D1; pose proof (demand_ge0 P M h k) as D0.
  destruct r; unfold share, weight in *; simpl in EF; unfold cap in EF; rewrite ?Hi, ?Hh in *.
  - (* DRF *) rewrite Rmult_1_l; apply EF; [lra|exact Logic.I|]. intros j J; specialize (Rm j J).
    replace (1 / 1) with 1 by field. lra.
  - (* scaled *) destruct (Rle_lt_or_eq_dec 0 (psi P h) ltac:(lra)) as [G|Z]; [|rewrite <- Z in *; nra].
    assert (v / psi P h <= y i). { apply EF; [lra|exact Logic.I|]. intros j J; specialize (Rm j J).
    replace (1 / 1) with 1 by field. apply Rmult_le_reg_r with (psi P h); auto.
    replace (1 * d P i j * (v / psi P h) * psi P h) with (d P i j * v) by (field; lra). lra. }
    assert (v = v / psi P h * psi P h) by (field; lra). nra.
  - (* weighted *) destruct (Rle_lt_or_eq_dec 0 (psi P h) ltac:(lra)) as [G|Z]; [|rewrite <- Z in *; nra].
    assert (v / psi P i <= y i).
    { apply EF; [auto| |].
      - destruct (Req_EM_T (psi P i) 0); [lra|exact Logic.I].
      - intros j J; specialize (Rm j J). replace (psi P i * d P i j * (v / psi P i)) with (d P i j * v) by (field; lra).
        replace (psi P i / psi P h * (psi P h * d P h j * y h)) with (psi P i * (d P h j * y h)) by (field; lra).
        apply Rle_trans with (1 := Rm). pose proof (demand_ge0 P M h j). assert (0 <= d P h j * y h) by nra. nra. }
    assert (v = v / psi P i * psi P i) by (field; lra). nra.
  - (* capped *) rewrite Rmult_1_l in *. destruct (Req_EM_T (psi P i) 1) as [E|NE].
    + apply EF; [lra|exact Logic.I|]. intros j J; specialize (Rm j J). replace (1 / 1) with 1 by field. lra.
    + assert (Si := capped_punished P y i M (conj F C) I Hi ltac:(lra)).
      assert (Sh := capped_punished P y h M (conj F C) K Hh ltac:(lra)).
      unfold share, weight in Si, Sh; rewrite Hi, Rmult_1_l in Si; rewrite Hh, Rmult_1_l in Sh.
      rewrite Si; rewrite Sh in *. pose proof (number_ge1 P i I Hi).
      assert (0 < / number P) by (apply Rinv_0_lt_compat; lra). unfold Rdiv in *.
      assert (0 <= psi P h * / number P) by nra. nra. Qed.
(* {thm-cbdrf-5} {thm-cbdrf-capped} Within a phase no claim pays: Q differs from P only in what node i claims. *)
Theorem no_lie_pays r P Q y y' i v : model P -> model Q -> n Q = n P -> m Q = m P -> (forall h, psi Q h = psi P h) ->
  (forall h, h <> i -> present Q h = present P h /\ forall j, d Q h j = d P h j) -> levels r P y -> levels r Q y' ->
  (i < n P)%nat -> present P i = true -> room P i (fun j => share r Q y' i * d Q i j) v -> v <= share r P y i.
Proof. intros M MQ en em ep eo L L' I Hi Rm. assert (S0 : 0 <= share r P y i).
  { unfold share, weight; rewrite Hi. pose proof (level_ge0 r P y i L I). pose proof (factor P M i). destruct r; nra. }
  destruct (dominant P M i I Hi) as [k [K Dk]]. destruct (present Q i) eqn:Hq.
  2: { pose proof (Rm k K) as R0; rewrite Dk in R0; unfold share, weight in R0; rewrite Hq in R0. destruct r; lra. }
  assert (pr : forall h, present Q h = present P h) by (intros h; destruct (Nat.eq_dec h i) as [->|N];
  [congruence|apply eo; auto]). assert (num : number Q = number P) by (unfold number; rewrite en; apply sum_ext; intros;
  rewrite pr; auto). assert (we : forall h, weight r Q h = weight r P h) by (intros h; unfold weight; rewrite pr, ep;
  auto). assert (ce : forall h, cap r Q h = cap r P h) by (intros h; unfold cap; rewrite pr, ep, num; auto).
  destruct L as [F C], L' as [F' C']. assert (SP : forall z, within z (cap r P i) ->
  (∀ j < m P, weight r P i * d P i j * z <= weight r Q i * d Q i j * y' i) -> z <= y i).
  { intros z B Q0. apply (strategy_proofness (as_pool r P) (as_pool r Q) i y y' z); simpl; auto; try (apply pool_model;
    auto). intros h N; destruct (eo h N) as [_ De]; split; [intros j; rewrite we, De; auto|auto]. }
  pose proof (factor P M i). assert (Vk : v <= share r Q y' i) . { pose proof (Rm k K) as R0; rewrite Dk in R0.
  pose proof (demand_le1 Q MQ i k); pose proof (demand_ge0 Q MQ i k). assert (0 <= share r Q y' i); [|nra].
  unfold share, weight; rewrite Hq, ep. assert (0 <= y' i) by (apply (proj1 F'); simpl; lia). destruct r; nra. }
  unfold share, weight in *; unfold cap in SP; rewrite Hi in *; rewrite Hq, ?ep in *; destruct r;
  rewrite ?Rmult_1_l in *.
  - apply SP; [exact Logic.I|]. intros j J; specialize (Rm j J). lra.
  - destruct (Rle_lt_or_eq_dec 0 (psi P i) ltac:(lra)) as [G|Z]; [|rewrite <- Z in *; lra]. assert (v / psi P i <= y i).
    { apply SP; [exact Logic.I|]. intros j J; specialize (Rm j J). apply Rmult_le_reg_r with (psi P i); auto.
      replace (1 * d P i j * (v / psi P i) * psi P i) with (d P i j * v) by (field; lra). lra. }
    assert (v = v / psi P i * psi P i) by (field; lra). nra.
  - destruct (Req_EM_T (psi P i) 0) as [Z|NZ]; [rewrite Z in *; lra|]. assert (v / psi P i <= y i).
    { apply SP; [exact Logic.I|]. intros j J; specialize (Rm j J).
      replace (psi P i * d P i j * (v / psi P i)) with (d P i j * v) by (field; lra). lra. }
    assert (v = v / psi P i * psi P i) by (field; lra). nra.
  - destruct (Req_EM_T (psi P i) 1) as [E|NE].
    + apply SP; [exact Logic.I|]. intros j J; specialize (Rm j J). lra.
    + assert (S1 := capped_punished P y i M (conj F C) I Hi ltac:(lra)).
      assert (S2 := capped_punished Q y' i MQ (conj F' C') ltac:(lia) Hq ltac:(rewrite ep; lra)).
      unfold share, weight in S1, S2; rewrite Hi in S1; rewrite Hq, ep, num in S2. lra. Qed.
(* ------------------------------------------------------------------------------------------- efficiency *)
(* Where a resource that everybody present needs is used up, nobody can have more. *)
Lemma full_is_pareto P s j : model P -> (j < m P)%nat -> (∀ h < n P, present P h = true -> 0 < d P h j) ->
  1 <= (Σ h < n P, if present P h then s h * d P h j else 0) -> pareto P no_limit s.
Proof. intros M J D U x v X V i I Hi. suppose G. specialize (X j J).
  assert ((Σ h < n P, if present P h then s h * d P h j else 0) < Σ h < n P, if present P h then x h j else 0); [|lra].
  apply sum_lt with i; auto; [|rewrite Hi; destruct (V i I Hi) as [R0 _]; specialize (R0 j J); specialize (D i I Hi);
  nra]. intros h K; destruct (present P h) eqn:Hh; [|lra]. destruct (V h K Hh) as [R0 [_ U0]].
  specialize (R0 j J); specialize (D h K Hh); nra. Qed.
Lemma pool_pareto r P y : model P -> levels r P y -> (∀ h < n P, present P h = true -> 0 < weight r P h) ->
  pareto P (fun h v => within (v / weight r P h) (cap r P h)) (fun h => weight r P h * y h).
Proof. intros M [F C] W x v X V i I Hi. set (z := fun h => if present P h then v h / weight r P h else 0).
  assert (z i <= y i).
  { apply (pareto_optimality (as_pool r P) y (pool_model r P M) F C (fun h j => if present P h then x h j else 0) z);
    auto; [split; [exact X|]|].
    - intros h K; simpl; unfold z. destruct (present P h) eqn:Hh.
      + destruct (V h K Hh) as [R0 [B _]]; split; [exact B|]. intros j J; specialize (R0 j J); specialize (W h K Hh).
        replace (weight r P h * d P h j * (v h / weight r P h)) with (d P h j * v h) by (field; lra). exact R0.
      + unfold cap; rewrite Hh; split; [simpl; lra|]. intros j J; unfold weight; rewrite Hh; lra.
    - intros h K; unfold z. destruct (present P h) eqn:Hh.
      + destruct (V h K Hh) as [_ [_ U0]]; specialize (W h K Hh). apply Rmult_le_reg_l with (weight r P h); auto.
        replace (weight r P h * (v h / weight r P h)) with (v h) by (field; lra). exact U0.
      + rewrite (absent r P y h) by (try split; auto). lra. }
  unfold z in H; rewrite Hi in H. specialize (W i I Hi). replace (v i) with (weight r P i * (v i / weight r P i)) by
  (field; lra). nra. Qed.
Lemma drf_pareto P y : model P -> levels Drf P y -> pareto P no_limit (share Drf P y).
Proof. intros M L x v X V i I Hi. apply (pool_pareto Drf P y M L) with x; auto.
  - intros h _ Hh; unfold weight; rewrite Hh; lra.
  - intros h K Hh; destruct (V h K Hh) as [R0 [_ U]]; repeat split; auto. unfold cap; rewrite Hh; exact Logic.I. Qed.
Lemma drf_fits P y j : levels Drf P y -> (j < m P)%nat -> (Σ h < n P, if present P h then y h * d P h j else 0) <= 1.
Proof. intros [F _] J. destruct F as [_ [_ F]]. apply Rle_trans with (2 := F j J). unfold use; simpl.
  apply sum_le; intros h _. unfold weight; destruct (present P h); lra. Qed.
(* {thm-cbdrf-6} The printed rule is efficient exactly if all nodes are in good standing. *)
Theorem scaled_efficient P y : model P -> levels Scaled P y ->
  (pareto P no_limit (share Scaled P y) <-> ∀ i < n P, present P i = true -> psi P i = 1).
Proof. intros M L. apply scaled_is_drf in L. split.
  - intros Pa i I Hi. pose proof (factor P M i) as Fi. destruct (Rle_lt_or_eq_dec _ _ (proj2 Fi)) as [lt|];
    [exfalso|auto]. assert (y i <= share Scaled P y i).
    { apply (Pa (fun h j => y h * d P h j) y); auto; [intros; apply drf_fits; auto|]. intros h K Hh; repeat split.
      - intros j _; lra.
      - unfold share; rewrite Hh. pose proof (factor P M h); pose proof (level_ge0 Drf P y h L K). nra. }
    unfold share in H; rewrite Hi in H. pose proof (equal_split P y i M L I Hi). destruct (split_ok P i I Hi). nra.
  - intros All x v X V i I Hi. unfold share. rewrite Hi, (All i I Hi).
    replace (1 * y i) with (share Drf P y i) by (unfold share, weight; rewrite Hi; auto).
    apply (drf_pareto P y M L x v X); auto. intros h K Hh; destruct (V h K Hh) as [R0 [N U]]; repeat split; auto.
    unfold share in *; unfold weight; rewrite Hh in *; rewrite (All h K Hh) in U; exact U. Qed.
(* {prop-cbdrf-use} The scaled rule uses no more of a resource than DRF, and less if a punished node needs it. *)
Theorem scaled_uses_less P y j : model P -> levels Scaled P y -> (Σ h < n P,
  share Scaled P y h * d P h j) <= (Σ h < n P, share Drf P y h * d P h j) /\ ∀ i < n P, present P i = true ->
  psi P i < 1 -> 0 < d P i j -> (Σ h < n P, share Scaled P y h * d P h j) < (Σ h < n P, share Drf P y h * d P h j).
Proof. intros M L. apply scaled_is_drf in L. assert (Le : ∀ h < n P, share Scaled P y h * d P h j <= share Drf P y h *
  d P h j). { intros h K; apply Rmult_le_compat_r; [apply demand_ge0; auto|]. unfold share, weight.
  pose proof (factor P M h). pose proof (level_ge0 Drf P y h L K). destruct (present P h); nra. }
  split; [apply sum_le; auto|]. intros i I Hi G D. apply sum_lt with i; auto. unfold share, weight; rewrite Hi.
  pose proof (equal_split P y i M L I Hi). destruct (split_ok P i I Hi). pose proof (factor P M i).
  apply Rmult_lt_compat_r; auto. nra. Qed.
(* ------------------------------------------------------------------------------------------- the weighted rule *)
Lemma factors_le P : model P -> sum_of_factors P <= number P.
Proof. intros M; apply sum_le; intros h _; unfold weight; destruct (present P h); [apply factor; auto|lra]. Qed.
(* {prop-cbdrf-weighted-si} *)
Theorem weighted_by_record P y i : model P -> levels Weighted P y -> (i < n P)%nat -> present P i = true ->
  0 < sum_of_factors P -> psi P i / sum_of_factors P <= share Weighted P y i /\ psi P i / number P <= psi P i /
  sum_of_factors P.
Proof. intros M [F C] I Hi S. pose proof (factor P M i) as Fi. pose proof (factors_le P M) as Le. split.
  - destruct (Rle_lt_or_eq_dec 0 (psi P i) (proj1 Fi)) as [G|Z].
    2: { unfold share, weight; rewrite Hi, <- Z. unfold Rdiv; lra. }
    assert (1 / sum_of_factors P <= y i).
    { apply (sharing_incentive (as_pool Weighted P) y i); auto; [apply pool_model; auto|simpl|].
      - rewrite no_cap by (auto; lra || discriminate). exact Logic.I.
      - change (1 / sum_of_factors P * sum_of_factors P <= 1). apply Req_le; field; lra. }
    unfold share, weight; rewrite Hi. unfold Rdiv in *. nra.
  - unfold Rdiv; apply Rmult_le_compat_l; [apply Fi|]. apply Rinv_le_contravar; auto. Qed.
(* {prop-cbdrf-weighted-pe} The rule is efficient if all factors are positive. *)
Theorem weighted_efficient P y : model P -> levels Weighted P y ->
  (∀ h < n P, present P h = true -> 0 < psi P h) -> pareto P no_limit (share Weighted P y).
Proof. intros M L Pos x v X V i I Hi. apply (pool_pareto Weighted P y M L) with x; auto.
  - intros h K Hh; unfold weight; rewrite Hh; auto.
  - intros h K Hh; destruct (V h K Hh) as [R0 [_ U]]; repeat split; auto. unfold cap; rewrite Hh.
    specialize (Pos h K Hh). destruct (Req_EM_T (psi P h) 0); [lra|exact Logic.I]. Qed.
(* {prop-cbdrf-weighted-pe} The rule is efficient if all demands are positive and one factor is positive. *)
Theorem weighted_efficient_positive P y i : model P -> levels Weighted P y -> positive P ->
  (i < n P)%nat -> present P i = true -> 0 < psi P i -> pareto P no_limit (share Weighted P y).
Proof. intros M L D I Hi G. destruct (limited Weighted P y i L I) as [j [J [U _]]]; [apply no_cap; auto; lra ||
  discriminate|]. apply (full_is_pareto P _ j); auto. rewrite <- U. unfold use; simpl. apply sum_le; intros h _.
  unfold share, weight; destruct (present P h); lra. Qed.
(* ------------------------------------------------------------------------------------------- the capped rule *)
(* {thm-cbdrf-capped} Part 3 *)
Theorem capped_efficient_within_caps P y : model P -> levels Capped P y -> pareto P (within_caps P) (share Capped P y).
Proof. intros M L x v X V i I Hi. apply (pool_pareto Capped P y M L) with x; auto.
  - intros h _ Hh; unfold weight; rewrite Hh; lra.
  - intros h K Hh; destruct (V h K Hh) as [R0 [B U]]; repeat split; auto. unfold cap, weight; rewrite Hh.
    destruct (Req_EM_T (psi P h) 1); [exact Logic.I|]. simpl. pose proof (factor P M h). unfold within_caps in B.
    replace (v h / 1) with (v h) by field. apply B; lra. Qed.
(* {thm-cbdrf-capped} Part 4 *)
Theorem capped_clean P y : (∀ i < n P, present P i = true -> psi P i = 1) -> (levels Capped P y <-> levels Drf P y).
Proof. intros All. assert (E : ∀ i < n P, cap Capped P i = cap Drf P i).
  { intros i I; unfold cap; destruct (present P i) eqn:H; [|auto]. rewrite (All i I H).
    destruct (Req_EM_T 1 1); [auto|lra]. }
  unfold levels, feasible, certified, bottleneck, use; simpl. split; intros [[F [B U]] C].
  all: split; [split; [auto|split; [intros i I|auto]]|intros i I; destruct (C i I) as [Q|Q]; [left|right; auto]].
  all: try (rewrite <- E by auto; auto; fail); try (rewrite E by auto; auto; fail). Qed.
(* {thm-cbdrf-capped} {lem-cbdrf-grants} With positive demands a node in good standing gets at least what DRF gives
   it, and more if any node is punished. *)
Theorem capped_good_at_least_drf P y z i : model P -> levels Drf P y -> levels Capped P z -> positive P ->
  (i < n P)%nat -> present P i = true -> psi P i = 1 -> share Drf P y i <= share Capped P z i /\ ∀ h < n P,
  present P h = true -> psi P h < 1 -> share Drf P y i < share Capped P z i.
Proof. intros M L Lz D I Hi G. destruct (limited Capped P z i Lz I) as [j [J [U B]]]; [apply no_cap; auto;
  discriminate|]. pose proof (drf_fits P y j L J) as Fit. unfold use in U; simpl in U.
  assert (low : ∀ h < n P, present P h = true -> z h <= z i) by (intros h K Hh; apply B; auto; unfold weight; rewrite
  Hh; lra).
  assert (term : ∀ h < n P, z i <= y i -> weight Capped P h * d P h j * z h <= if present P h then y h * d P h j else
  0). { intros h K Z; unfold weight; destruct (present P h) eqn:Hh; [|lra]. specialize (low h K Hh).
  assert (y i <= y h) by (apply (one_level Drf P y h i L D K); auto; [apply no_cap; auto; discriminate|unfold weight;
  rewrite Hi; lra]). positive_at D h j. nra. }
  unfold share, weight; rewrite Hi, !Rmult_1_l. split.
  - suppose lt. apply (Rlt_not_le _ _ (sum_lt (n P) _ _ i (fun h K => term h K ltac:(lra)) I ltac:(simpl; unfold weight;
    rewrite Hi; positive_at D i j; nra))). rewrite U; exact Fit.
  - intros h K Hh Bad. suppose le. apply (Rlt_not_le _ _ (sum_lt (n P) _ _ h (fun g Kg => term g Kg le) K ltac:( simpl;
    unfold weight; rewrite Hh; pose proof (capped_punished P z h M Lz K Hh Bad) as S; unfold share, weight in S;
    rewrite Hh in S; pose proof (equal_split P y h M L K Hh); destruct (split_ok P h K Hh); pose proof (factor P M h);
    positive_at D h j; unfold Rdiv in *; assert (z h < y h) by nra; nra))). rewrite U; exact Fit. Qed.
(* {thm-cbdrf-capped} Part 6 *)
Theorem capped_efficient P y : model P -> levels Capped P y -> positive P -> (∃ i < n P, present P i = true) ->
  (pareto P no_limit (share Capped P y) <-> ∃ i < n P, present P i = true /\ psi P i = 1).
Proof. intros M L D [g [G Hg]]. split.
  - intros Pa. destruct (dec_ex (n P) (fun i => present P i = true /\ psi P i = 1)) as [[i [I Q]]|no]; [|exists i;
    tauto|]. { intros i; destruct (present P i), (Req_EM_T (psi P i) 1); [left; auto|right..]; intuition discriminate. }
    exfalso. assert (Bad : ∀ h < n P, present P h = true -> psi P h < 1). { intros h K Hh; pose proof (factor P M h).
    destruct (Rle_lt_or_eq_dec (psi P h) 1); [lra|auto|]. exfalso; apply no; exists h; auto. }
    set (used := fun j => Σ h < n P, if present P h then share Capped P y h * d P h j else 0).
    assert (part : forall j h, (h < n P)%nat -> present P h = true -> share Capped P y h * d P h j < 1 * / number P).
    { intros j h K Hh. rewrite (capped_punished P y) by auto. pose proof (Bad h K Hh).
      pose proof (factor P M h). destruct (split_ok P h K Hh) as [_ N]. unfold Rdiv in *.
      pose proof (demand_le1 P M h j); pose proof (demand_ge0 P M h j). assert (0 <= psi P h * / number P) by nra.
      nra. }
    assert (slack : forall j, used j < 1).
    { intros j; unfold used. apply Rlt_le_trans with (Σ h < n P, if present P h then 1 * / number P else 0).
      - apply sum_lt with g; auto; [intros h K; destruct (present P h) eqn:Hh; [apply Rlt_le|lra]|rewrite Hg];
        apply part; auto.
      - apply Req_le. transitivity (Σ h < n P, (if present P h then 1 else 0) * / number P); [apply sum_ext; intros;
        destruct (present P i); lra|]. rewrite sum_mul. fold (number P). pose proof (number_ge1 P g G Hg). field; lra. }
    destruct (small_step (m P) (fun j e => used j + e <= 1)) as [e [E Ok]].
    { intros j _; exists (1 - used j); specialize (slack j); split; lra. } { intros; lra. }
    set (v := fun h => share Capped P y h + if Nat.eqb h g then e else 0).
    assert (v g <= share Capped P y g); [|unfold v in H; rewrite Nat.eqb_refl in H; lra].
    apply (Pa (fun h j => d P h j * v h) v); auto.
    + intros j J. apply Rle_trans with (2 := Ok j J).
      apply Rle_trans with (used j + Σ h < n P, (if Nat.eqb h g then 1 else 0) * e).
      * unfold used; rewrite <- sum_plus; apply sum_le; intros h K; unfold v.
        pose proof (demand_le1 P M h j); pose proof (demand_ge0 P M h j). destruct (present P h), (Nat.eqb h g); nra.
      * apply Rplus_le_compat_l. rewrite sum_mul. rewrite (sum_only (n P) g (fun _ => 1)) by auto; lra.
    + intros h K Hh; repeat split; [intros j _; lra|]. unfold v; destruct (Nat.eqb h g); lra.
  - intros [i [I [Hi E]]]. destruct (limited Capped P y i L I) as [j [J [U _]]]; [apply no_cap; auto; discriminate|].
    apply (full_is_pareto P _ j); auto. rewrite <- U. unfold use; simpl. apply sum_le; intros h _.
    unfold share, weight; destruct (present P h); lra. Qed.
(* ------------------------------------------------------------------------------------------- a better record *)
(* {lem-cbdrf-weight} Q is P with the weight of i multiplied by c: the rates of i grow, and the bound on its level
   shrinks. *)
Theorem more_weight (P Q : pool) i c y y' : (forall h j, 0 <= a P h j) -> 1 <= c -> foundations.n Q = foundations.n P ->
  foundations.m Q = foundations.m P -> (forall h j, h <> i -> a Q h j = a P h j) -> (forall j, a Q i j = c * a P i j) ->
  (forall h, h <> i -> b Q h = b P h) -> b Q i = option_map (fun u => u / c) (b P i) -> feasible P y -> certified P y ->
  feasible Q y' -> certified Q y' -> (i < foundations.n P)%nat -> y i <= c * y' i.
Proof. intros A0 C1 en em ea ai eb bi F Cy F' Cy' I. suppose less. assert (Yi : 0 <= y' i) by (apply F'; lia).
  assert (y i < y' i); [|nra]. apply (one_user_changes Q P y' y i); auto; try lia.
  - intros h j; destruct (Nat.eq_dec h i) as [->|N]; [rewrite ai; specialize (A0 i j); nra|rewrite ea; auto].
  - intros h N; split; [intros; rewrite ea|rewrite eb]; auto.
  - rewrite bi; destruct (b P i) as [u|] eqn:Eb; [|discriminate]. intros E; injection E as E. destruct F as [_ [Bd _]].
    specialize (Bd i I); rewrite Eb in Bd; simpl in Bd. assert (u = c * y' i) by (rewrite <- E; field; lra). lra.
  - intros j _ A. rewrite ai in *. nra. Qed.
Lemma same_levels r P y z i : model P -> levels r P y -> levels r P z -> (i < n P)%nat -> y i = z i.
Proof. intros M [F C] [F' C'] I. pose proof (pool_model r P M) as PM.
  apply (unique (as_pool r P)); auto; [apply certified_fair; auto|apply fair_is_leximin; auto; apply certified_fair;
  auto]. Qed.
(* The grant does not fall in the factor; under these rules it rises. *)
Lemma more_record_strict r P y y' i c c' : model P -> (r = Scaled \/ r = Capped) -> (i < n P)%nat ->
  present P i = true -> 0 <= c < c' -> c' <= 1 -> levels r (with_record P i c) y -> levels r (with_record P i c') y' ->
  share r (with_record P i c) y i < share r (with_record P i c') y' i.
Proof. intros M Rr I Hi C C1 L L'. assert (M1 : model (with_record P i c)) by (apply with_record_model; auto; lra).
  assert (M2 : model (with_record P i c')) by (apply with_record_model; auto; lra).
  assert (at_ : forall z, psi (with_record P i z) i = z) by (intros z; simpl; rewrite Nat.eqb_refl; auto).
  pose proof (number_ge1 P i I Hi) as N1. assert (inv : 0 < / number P) by (apply Rinv_0_lt_compat; lra).
  destruct Rr as [->| ->].
  - assert (E : y i = y' i) by (apply (same_levels Scaled (with_record P i c)); auto). apply scaled_is_drf in L.
    pose proof (equal_split _ y i M1 L I Hi) as S. change (number (with_record P i c)) with (number P) in S.
    unfold share; rewrite !at_; simpl; rewrite Hi, <- E. unfold Rdiv in S. nra.
  - rewrite capped_punished by (auto; rewrite at_; lra). rewrite at_.
    change (number (with_record P i c)) with (number P). destruct (Rle_lt_or_eq_dec c' 1 C1) as [B|E].
    + rewrite capped_punished by (auto; rewrite at_; lra). rewrite at_.
      change (number (with_record P i c')) with (number P). unfold Rdiv; nra.
    + assert (G : 1 / number P <= share Capped (with_record P i c') y' i) by (apply (capped_good (with_record P i c'));
      auto; rewrite at_; auto). unfold Rdiv in *; nra. Qed.
Lemma more_record r P y y' i c c' : model P -> (i < n P)%nat -> present P i = true -> 0 <= c <= c' -> c' <= 1 ->
  levels r (with_record P i c) y -> levels r (with_record P i c') y' ->
  share r (with_record P i c) y i <= share r (with_record P i c') y' i.
Proof. intros M I Hi C C1 L L'. assert (M1 : model (with_record P i c)) by (apply with_record_model; auto; lra).
  destruct (Rle_lt_or_eq_dec c c' (proj2 C)) as [Lt|<-].
  2: { unfold share, weight; simpl. rewrite (same_levels r _ y y' i M1 L L' I). lra. }
  destruct r; try (apply Rlt_le, more_record_strict; auto; lra).
  - unfold share, weight; simpl; rewrite Hi. rewrite (same_levels Drf _ y y' i M1 L L' I). lra.
  - unfold share, weight; simpl; rewrite Hi, !Nat.eqb_refl. destruct (Rle_lt_or_eq_dec 0 c ltac:(lra)) as [G|Z].
    2: { rewrite <- Z. pose proof (level_ge0 Weighted _ y' i L' I). nra. }
    destruct L as [F Ce], L' as [F' Ce']. assert (H : y i <= c' / c * y' i).
    { apply (more_weight (as_pool Weighted (with_record P i c)) (as_pool Weighted (with_record P i c')) i); auto.
      - intros h j; apply Rmult_le_pos; [apply weight_ge0; auto|apply demand_ge0; auto].
      - apply Rmult_le_reg_r with c; auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
      - intros h j N; simpl; unfold weight; simpl. apply Nat.eqb_neq in N; rewrite N; auto.
      - intros j; simpl; unfold weight; simpl. rewrite Hi, !Nat.eqb_refl. field; lra.
      - intros h N; simpl; unfold cap; simpl. apply Nat.eqb_neq in N; rewrite N; auto.
      - simpl; unfold cap; simpl. rewrite Hi, !Nat.eqb_refl. destruct (Req_EM_T c' 0), (Req_EM_T c 0); try lra; auto. }
    replace (c' * y' i) with (c * (c' / c * y' i)) by (field; lra). nra. Qed.
(* ------------------------------------------------------------------------------------------- the record *)
Section record.
(* {model} *)
(* credit: where it starts, its cap and floor, the steps; in the three statements of this section the cap is where it
   starts *)
Variables (start top floor up down : R).
Hypotheses (S0 : 0 < start) (Top : start <= top) (Fl : 0 <= floor < start) (Up : 0 < up) (Down : 0 < down).
Hypothesis Cap : top = start.
Definition next (ok : bool) c := if ok then Rmin top (c + up) else Rmax floor (c - down).
Definition credit_factor c := Rmin 1 (c / start).
Fixpoint credit (ok : nat -> bool) t := match t with O => start | S k => next (ok k) (credit ok k) end.

(* a failure costs a step in proportion to what is kept *)
Definition graded c eta := Rmax floor (c - down * (1 - eta)).
(* {end} *)
Lemma next_range ok c : floor <= c <= top -> floor <= next ok c <= top.
Proof. intros C; unfold next, Rmin, Rmax; destruct ok; [destruct (Rle_dec _ _)|destruct (Rle_dec _ _)]; lra. Qed.
Lemma credit_range ok t : floor <= credit ok t <= top.
Proof. induction t; simpl; [lra|apply next_range; auto]. Qed.
(* Who complies whenever it did has no less credit, *)
Lemma compliance_keeps_credit ok ok' t : (∀ k < t, ok k = true -> ok' k = true) -> credit ok t <= credit ok' t.
Proof. induction t as [|t IH]; intros H; simpl; [lra|]. assert (L : credit ok t <= credit ok' t) by (apply IH; auto).
  pose proof (credit_range ok t); pose proof (credit_range ok' t). specialize (H t (Nat.lt_succ_diag_r t)).
  unfold next, Rmin, Rmax. destruct (ok t); [rewrite H by auto|destruct (ok' t)]; repeat destruct (Rle_dec _ _); lra.
  Qed.
(* nor a smaller factor. *)
Lemma factor_mono c c' : c <= c' -> credit_factor c <= credit_factor c'.
Proof. intros L; unfold credit_factor. apply Rle_min_compat_l. unfold Rdiv; apply Rmult_le_compat_r; auto.
  apply Rlt_le, Rinv_0_lt_compat; auto. Qed.
Lemma factor_range c : floor <= c -> 0 <= credit_factor c <= 1.
Proof. intros L; unfold credit_factor; split; [|apply Rmin_l]. apply Rmin_glb; [lra|].
  apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; auto]. Qed.
Lemma factor_is c : c <= start -> credit_factor c = c / start.
Proof. intros L; unfold credit_factor; apply Rmin_right. apply Rmult_le_reg_r with start; auto.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma div_lt x z : x < z -> x / start < z / start.
Proof. intros L; unfold Rdiv; apply Rmult_lt_compat_r; auto. apply Rinv_0_lt_compat; auto. Qed.
(* {thm-cbdrf-2} Part 1; credit is capped at its initial value. *)
Theorem factor_moves c : floor <= c <= start -> (floor < c -> credit_factor (next false c) < credit_factor c) /\
  (credit_factor c < 1 -> credit_factor c < credit_factor (next true c)).
Proof. intros [L U]. assert (R1 : floor <= next false c <= top) by (apply next_range; lra).
  assert (R2 : floor <= next true c <= top) by (apply next_range; lra). rewrite !factor_is by lra. split; intros H.
  - apply div_lt. unfold next; minmax.
  - apply div_lt. unfold next, Rmin; destruct (Rle_dec _ _); [|lra]. apply Rnot_le_lt; intros N.
    assert (E : c = start) by lra. rewrite E in H. unfold Rdiv in H; rewrite Rinv_r in H; lra. Qed.
Theorem after_failures ok t p : (forall k, (t <= k < t + p)%nat -> ok k = false) ->
  credit ok (t + p) = Rmax floor (credit ok t - INR p * down).
Proof. pose proof (credit_range ok t) as B. induction p as [|p IH]; intros H.
  - rewrite Nat.add_0_r; simpl. minmax.
  - rewrite Nat.add_succ_r; cbn [credit]. rewrite H by lia. rewrite IH by (intros; apply H; lia). rewrite S_INR.
    unfold next, Rmax. repeat destruct (Rle_dec _ _); lra. Qed.
Theorem after_compliance ok t p : (forall k, (t <= k < t + p)%nat -> ok k = true) ->
  credit ok (t + p) = Rmin start (credit ok t + INR p * up).
Proof. pose proof (credit_range ok t) as B. induction p as [|p IH]; intros H.
  - rewrite Nat.add_0_r; simpl. minmax.
  - rewrite Nat.add_succ_r; cbn [credit]. rewrite H by lia. rewrite IH by (intros; apply H; lia). rewrite S_INR.
    unfold next; rewrite Cap; unfold Rmin. repeat destruct (Rle_dec _ _); lra. Qed.
(* {thm-cbdrf-2} Part 2; credit is counted in parts of its initial value. *)
Theorem factor_after ok t p : ((forall k, (t <= k < t + p)%nat -> ok k = false) ->
  credit_factor (credit ok (t + p)) = Rmax (floor / start) (credit_factor (credit ok t) - INR p * (down / start))) /\
  ((forall k, (t <= k < t + p)%nat -> ok k = true) -> credit_factor (credit ok (t + p)) = Rmin 1 (credit_factor (credit
  ok t) + INR p * (up / start))).
Proof. pose proof (credit_range ok t). pose proof (credit_range ok (t + p)).
  assert (0 < / start) by (apply Rinv_0_lt_compat; auto). split; intros All; rewrite !factor_is by lra.
  - rewrite after_failures by auto. unfold Rmax; destruct (Rle_dec floor (credit ok t - INR p * down)),
    (Rle_dec _ (credit ok t / start - _)); unfold Rdiv in *; nra.
  - rewrite after_compliance by auto. replace 1 with (start / start) by (field; lra).
    unfold Rmin; destruct (Rle_dec start (credit ok t + INR p * up)), (Rle_dec _ (credit ok t / start + _));
    unfold Rdiv in *; nra. Qed.
(* One phase more of compliance gives a larger factor in the next. *)
Lemma complying_raises c : floor <= c <= start -> credit_factor (next false c) < credit_factor (next true c).
Proof. intros C. destruct (factor_moves c C) as [A B]. assert (R1 : floor <= next false c <= top) by
  (apply next_range; lra). assert (R2 : floor <= next true c <= top) by (apply next_range; lra).
  rewrite !factor_is in * by lra. apply div_lt. unfold next; minmax. Qed.
(* {prop-cbdrf-graded} The step is in proportion to what is kept. Of two nodes that fail, the one that keeps more has
   the smaller factor afterwards. *)
Theorem keeping_more_costs_more c eta eta' : floor <= c <= start -> eta < eta' -> eta' <= 1 ->
  credit_factor (graded c eta) < credit_factor (graded c eta') \/ (graded c eta = floor /\ graded c eta' = floor).
Proof. intros C E E1. assert (0 <= 1 - eta') by lra. assert (0 <= 1 - eta) by lra.
  assert (graded c eta <= start) by (unfold graded; minmax). assert (graded c eta' <= start) by (unfold graded; minmax).
  rewrite !factor_is by auto. unfold graded, Rmax in *; destruct (Rle_dec floor (c - down * (1 - eta'))),
  (Rle_dec floor (c - down * (1 - eta))).
  - left; apply div_lt; nra.
  - destruct (Req_dec floor (c - down * (1 - eta'))); [right; lra|left; apply div_lt; lra].
  - exfalso; nra.
  - right; auto. Qed.
End record.

(* {thm-cbdrf-3} Part 3: the part of the DRF amount that is granted is the factor; each failure lowers it, unless it
   is at its floor. *)
Theorem part_falls P y P' y' i c start floor up down : model P -> model P' -> levels Scaled P y ->
  levels Scaled P' y' -> (i < n P)%nat -> (i < n P')%nat -> present P i = true -> present P' i = true -> 0 < start ->
  0 <= floor < start -> 0 < up -> 0 < down -> floor < c <= start -> psi P i = credit_factor start c ->
  psi P' i = credit_factor start (next start floor up down false c) -> share Scaled P' y' i / share Drf P' y' i < share
  Scaled P y i / share Drf P y i.
Proof. intros M M' L L' I I' H H' S0 Fl Up Dn C E E'. apply scaled_is_drf in L; apply scaled_is_drf in L'.
  pose proof (equal_split P y i M L I H); pose proof (equal_split P' y' i M' L' I' H').
  destruct (split_ok P i I H), (split_ok P' i I' H'). unfold share, weight; rewrite H, H', E, E'.
  replace (credit_factor start c * y i / (1 * y i)) with (credit_factor start c) by (field; lra).
  replace (credit_factor start (next start floor up down false c) * y' i / (1 * y' i)) with (credit_factor start (next
  start floor up down false c)) by (field; lra). apply (factor_moves start start floor up down); auto; lra. Qed.
(* {model} *)
(* the credit without a cap; how often the node complied (true) or failed (false) *)
Fixpoint open_credit (start floor up down : R) (ok : nat -> bool) t := match t with O => start | S k =>
  if ok k then open_credit start floor up down ok k + up else Rmax floor (open_credit start floor up down ok k - down)
    end.
Fixpoint count (ok : nat -> bool) (which : bool) t := match t with O => 0 | S k =>
  count ok which k + if Bool.eqb (ok k) which then 1 else 0 end.
(* {end} *)

(* {prop-cbdrf-bank} Without a cap, a node is in good standing as long as its steps up outweigh its steps down. *)
Theorem banked start floor up down ok t : 0 < start -> down * count ok false t <= up * count ok true t ->
  credit_factor start (open_credit start floor up down ok t) = 1.
Proof. intros S0 H. assert (E : start + up * count ok true t - down * count ok false t <= open_credit start floor up
  down ok t). { clear H; induction t as [|t IH]; simpl; [lra|]. destruct (ok t); simpl; [lra|].
  apply Rle_trans with (2 := Rmax_r _ _). lra. }
  unfold credit_factor. apply Rmin_left, Rmult_le_reg_r with start; auto.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
(* ------------------------------------------------------------------------------------------- strictly more *)
(* {prop-cbdrf-weighted-punitive} Demands are positive, and another node has a positive factor. *)
Theorem weighted_strict P y y' i g c c' : model P -> positive P -> (i < n P)%nat -> present P i = true ->
  (g < n P)%nat -> g <> i -> present P g = true -> 0 < psi P g -> 0 <= c < c' -> c' <= 1 ->
  levels Weighted (with_record P i c) y -> levels Weighted (with_record P i c') y' ->
  share Weighted (with_record P i c) y i < share Weighted (with_record P i c') y' i.
Proof. intros M D I Hi G N Hg Pg C C1 L L'. assert (M1 : model (with_record P i c)) by (apply with_record_model; auto;
  lra). assert (M2 : model (with_record P i c')) by (apply with_record_model; auto; lra).
  assert (at_ : forall z, psi (with_record P i z) i = z) by (intros z; simpl; rewrite Nat.eqb_refl; auto).
  assert (oth : forall z h, h <> i -> psi (with_record P i z) h = psi P h) by (intros z h Nh; simpl;
  apply Nat.eqb_neq in Nh; rewrite Nh; auto). assert (free : forall z, 0 < z ->
  cap Weighted (with_record P i z) i = None) by (intros; apply no_cap; auto; [rewrite at_; lra|discriminate]).
  destruct (limited Weighted _ y' i L' I) as [j [J [U _]]]; [apply free; lra|]. assert (Y' : 0 < y' i).
  { assert (S : 0 < sum_of_factors (with_record P i c')).
    { apply sum_gt0 with i; auto; [intros; apply weight_ge0; auto|]. unfold weight; rewrite at_. simpl; rewrite Hi; lra.
      }
    destruct (weighted_by_record _ y' i M2 L' I Hi S) as [B _]. unfold share, weight in B; rewrite at_ in B.
    simpl in B; rewrite Hi in B. assert (0 < c' / sum_of_factors (with_record P i c')) by (unfold Rdiv;
    apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; auto]). nra. }
  unfold share, weight; rewrite !at_. simpl; rewrite Hi. suppose le.
  assert (Cp : 0 < c) by (destruct (Rle_lt_or_eq_dec 0 c); [lra|auto|subst c; pose proof (level_ge0 _ _ y i L I); nra]).
  assert (up : y' i < y i) by nra. pose proof (proj2 (proj2 (proj1 L)) j J) as Fu. unfold use in Fu, U; simpl in Fu, U.
  assert (lt : (Σ h < n P, weight Weighted (with_record P i c') h * d P h j * y' h) < Σ h < n P,
  weight Weighted (with_record P i c) h * d P h j * y h); [|lra].
  assert (lev : ∀ h < n P, h <> i -> present P h = true -> 0 < psi P h -> y' h < y h).
  { intros h K Nh Hh Ph. apply Rle_lt_trans with (y' i); [apply (one_level Weighted (with_record P i c')); auto; [apply
  free; lra|unfold weight; rewrite oth by auto; simpl; rewrite Hh; auto]|]. apply Rlt_le_trans with (y i); auto.
  apply (one_level Weighted (with_record P i c)); auto; [apply no_cap; auto; [rewrite oth; auto; lra|discriminate]|].
  unfold weight; rewrite at_; simpl; rewrite Hi; auto. } apply sum_lt with g; auto.
  - intros h K. destruct (Nat.eq_dec h i) as [->|Nh]; [unfold weight; rewrite !at_; simpl; rewrite Hi;
    positive_at D i j; nra|]. unfold weight; rewrite !oth by auto; simpl. destruct (present P h) eqn:Hh; [|lra].
    destruct (Rle_lt_or_eq_dec 0 (psi P h)) as [Ph|Z]; [apply factor; auto| |rewrite <- Z; lra].
    specialize (lev h K Nh Hh Ph); positive_at D h j. assert (0 < psi P h * d P h j) by nra. nra.
  - unfold weight; rewrite !oth by auto; simpl. rewrite Hg. specialize (lev g G N Hg Pg); positive_at D g j.
    assert (0 < psi P g * d P g j) by nra. nra. Qed.
(* {prop-cbdrf-weighted-punitive} If all factors are equal and positive, the rule is DRF. *)
Theorem equal_factors P y c : 0 < c -> (∀ i < n P, present P i = true -> psi P i = c) -> levels Weighted P y ->
  levels Drf P (fun i => c * y i) /\ ∀ i < n P, share Weighted P y i = share Drf P (fun i => c * y i) i.
Proof. intros Cp All L. assert (we : ∀ i < n P, weight Weighted P i = c * weight Drf P i).
  { intros i I; unfold weight; destruct (present P i) eqn:H; [rewrite All by auto|]; lra. }
  split; [|intros i I; unfold share; rewrite we by auto; lra]. destruct L as [F Ce].
  apply (equal_weights (as_pool Drf P) (as_pool Weighted P) c y); auto; simpl; [intros i j I; rewrite we by auto; lra|].
  intros i I; unfold cap. destruct (present P i) eqn:H; [rewrite All by auto; destruct (Req_EM_T c 0); [lra|auto]|simpl;
  f_equal; field; lra]. Qed.
(* ------------------------------------------------------------------------------------------- closed forms *)
(* {lem-cbdrf-grants} With positive demands: the shares under DRF and under the scaled rule. *)
Theorem drf_in_closed_form P y g : model P -> levels Drf P y -> positive P -> (g < n P)%nat -> present P g = true ->
  exists L, one_over_largest (m P) (of_all P) L /\ 1 / number P <= L /\
  ∀ i < n P, present P i = true -> share Drf P y i = L /\ share Scaled P y i = psi P i * L.
Proof. intros M Lv D G Hg. exists (y g). assert (same : ∀ i < n P, present P i = true -> y i = y g).
  { intros i I Hi; apply Rle_antisym; apply (one_level Drf P y); auto; try (apply no_cap; auto; discriminate); unfold
    weight; rewrite ?Hi, ?Hg; lra. }
  assert (E : forall j, use (as_pool Drf P) y j = of_all P j * y g).
  { intros j; unfold use, of_all; simpl. rewrite <- sum_mul; apply sum_ext; intros i I; unfold weight.
  destruct (present P i) eqn:Hi; [rewrite (same i I Hi)|]; lra. } split; [split|split].
  - intros j J; rewrite <- E. apply (proj1 Lv); auto.
  - destruct (limited Drf P y g Lv G) as [j [J [U _]]]; [apply no_cap; auto; discriminate|]. exists j; split;
    [auto|rewrite <- E; auto].
  - apply (equal_split P y g); auto.
  - intros i I Hi; unfold share, weight; rewrite Hi, (same i I Hi). lra. Qed.
(* {thm-cbdrf-1} Given its demand, all shares of a node follow from its dominant share, with one L for all nodes. *)
Theorem shares_follow P y g : model P -> levels Scaled P y -> positive P -> (g < n P)%nat -> present P g = true ->
  exists L, one_over_largest (m P) (of_all P) L /\
  forall i j, (i < n P)%nat -> present P i = true -> share Scaled P y i * d P i j = psi P i * L * d P i j.
Proof. intros M Lv D G Hg. apply scaled_is_drf in Lv. destruct (drf_in_closed_form P y g M Lv D G Hg)
  as [L [O [_ S]]]. exists L; split; auto. intros i j I Hi. destruct (S i I Hi) as [_ ->]; lra. Qed.
(* {lem-cbdrf-grants} With positive demands: the shares under the weighted rule, if some factor is positive. *)
Theorem weighted_in_closed_form P y z g : model P -> levels Weighted P y -> levels Drf P z -> positive P ->
  (g < n P)%nat -> present P g = true -> 0 < psi P g -> exists lambda, one_over_largest (m P) (by_factor P) lambda /\
  share Drf P z g <= lambda /\ ∀ i < n P, present P i = true -> share Weighted P y i = psi P i * lambda.
Proof. intros M Lv Lz D G Hg Pg. exists (y g). assert (same : ∀ i < n P, present P i = true -> 0 < psi P i ->
  y i = y g). { intros i I Hi Pi; apply Rle_antisym; apply (one_level Weighted P y); auto; try (apply no_cap; auto; lra
  || discriminate); unfold weight; rewrite ?Hi, ?Hg; auto. }
  assert (sh : ∀ i < n P, present P i = true -> share Weighted P y i = psi P i * y g).
  { intros i I Hi; unfold share, weight; rewrite Hi. destruct (Rle_lt_or_eq_dec 0 (psi P i)) as [Pi|Z]; [apply factor;
    auto| |rewrite <- Z; lra]. rewrite (same i I Hi Pi); auto. }
  assert (E : forall j, use (as_pool Weighted P) y j = by_factor P j * y g). { intros j; unfold use, by_factor; simpl.
  rewrite <- sum_mul; apply sum_ext; intros i I. specialize (sh i I). unfold share, weight in *.
  destruct (present P i); [rewrite Rmult_assoc, (Rmult_comm (d P i j)), <- Rmult_assoc, sh by auto|]; lra. }
  destruct (limited Weighted P y g Lv G) as [j [J [U _]]]; [apply no_cap; auto; lra || discriminate|].
  split; [split|split; [|auto]].
  - intros k K; rewrite <- E. apply Lv; auto.
  - exists j; split; [auto|rewrite <- E; auto].
  - destruct (drf_in_closed_form P z g M Lz D G Hg) as [L [[O _] [_ S]]]. destruct (S g G Hg) as [-> _].
    specialize (O j J). rewrite E in U. assert (Le : by_factor P j <= of_all P j).
    { apply sum_le; intros i I; destruct (present P i) eqn:Hi; [|lra].
    pose proof (factor P M i); positive_at D i j; nra. } assert (By : 0 < by_factor P j).
    { apply sum_gt0 with g; auto; [|rewrite Hg; positive_at D g j; nra].
      intros i I; destruct (present P i) eqn:Hi; [|lra]. pose proof (factor P M i); positive_at D i j; nra. }
    apply Rnot_lt_le; intros lt. assert (0 < y g) by nra. pose proof (Rmult_lt_compat_l _ _ _ By lt) as Up.
    assert (by_factor P j * L <= of_all P j * L) by (apply Rmult_le_compat_r; lra). lra. Qed.
(* {lem-cbdrf-grants} With positive demands: under the capped rule all nodes in good standing have the same share,
   which a resource limits. *)
Theorem capped_in_closed_form P y g : model P -> levels Capped P y -> positive P -> (g < n P)%nat ->
  present P g = true -> psi P g = 1 -> exists Lc, (∀ i < n P, present P i = true -> psi P i = 1 ->
  share Capped P y i = Lc) /\ let used j := Σ i < n P, if present P i then (if Req_EM_T (psi P i) 1 then Lc else psi P i
  / number P) * d P i j else 0 in (∀ j < m P, used j <= 1) /\ ∃ j < m P, used j = 1.
Proof. intros M Lv D G Hg Pg. exists (y g). assert (same : ∀ i < n P, present P i = true -> psi P i = 1 -> y i = y g).
  { intros i I Hi Pi; apply Rle_antisym; apply (one_level Capped P y); auto; try (apply no_cap; auto; discriminate);
    unfold weight; rewrite ?Hi, ?Hg; lra. } split; [intros i I Hi Pi; unfold share, weight; rewrite Hi, (same i I Hi
  Pi); lra|]. assert (E : forall j, use (as_pool Capped P) y j = Σ i < n P, if present P i then (if Req_EM_T (psi P i)
  1 then y g else psi P i / number P) * d P i j else 0). { intros j; unfold use; simpl; apply sum_ext; intros i I;
  unfold weight. destruct (present P i) eqn:Hi; [|lra]. destruct (Req_EM_T (psi P i) 1) as [Pi|N];
  [rewrite (same i I Hi Pi); lra|]. pose proof (factor P M i). assert (S := capped_punished P y i M Lv I Hi ltac:(lra)).
  unfold share, weight in S; rewrite Hi in S. rewrite <- S; lra. } intros used; split.
  - intros j J; unfold used; rewrite <- E. apply Lv; auto.
  - destruct (limited Capped P y g Lv G) as [j [J [U _]]]; [apply no_cap; auto; discriminate|]. exists j; split;
    [auto|unfold used; rewrite <- E; auto]. Qed.
(* ------------------------------------------------------------------------------------------- many phases *)
(* {model} *)
Record course := Course {
  nodes : nat; resources : nat;
  comes : nat -> nat -> bool;         (* who needs something in phase t *)
  need : nat -> nat -> nat -> R;      (* per unit of dominant share: phase, node, resource *)
  releases : nat -> nat -> R          (* the part eta of its grant that a node would release *)
}.
(* What is held returns. The terms of the record: start, top, floor, step up, step down, threshold. *)
Record terms := Terms { start : R; top : R; floor : R; up : R; down : R; rho : R }.
Definition proper T := 0 < start T /\ start T <= top T /\ 0 <= floor T < start T /\ 0 < up T /\ 0 < down T.

(* A node that is granted nothing, because it needs nothing or its factor is 0, complies. *)
Fixpoint credit_of C T t i := match t with O => start T | S k =>
  next (top T) (floor T) (up T) (down T)
    (if comes C k i then if Rlt_dec 0 (credit_factor (start T) (credit_of C T k i))
       then if Rle_dec (rho T) (releases C k i) then true else false else true else true) (credit_of C T k i) end.
Definition phase_with C t psi := Phase (nodes C) (resources C) (comes C t) (need C t) psi.
Definition phase_at C T t := phase_with C t (fun i => credit_factor (start T) (credit_of C T t i)).
(* The same, if ok t i says whether node i complies in phase t *)
Definition credit_by T (ok : nat -> nat -> bool) t i := credit (start T) (top T) (floor T) (up T) (down T)
  (fun k => ok k i) t.
Definition phase_by C T ok t := phase_with C t (fun i => credit_factor (start T) (credit_by T ok t i)).
Definition proper_course C := (0 < resources C)%nat /\ forall t i, (forall j, 0 <= need C t i j <= 1) /\
  ((i < nodes C)%nat -> comes C t i = true -> ∃ k < resources C, need C t i k = 1).
(* Two courses that differ in what node i claims *)
Definition claims_of C C' i := nodes C' = nodes C /\ resources C' = resources C /\
  (forall t h, releases C' t h = releases C t h) /\
  forall t h, h <> i -> comes C' t h = comes C t h /\ forall j, need C' t h j = need C t h j.
(* {end} *)
Lemma credit_of_range C T t i : proper T -> floor T <= credit_of C T t i <= top T.
Proof. intros [S0 [Tp [Fl [Up Dn]]]]; induction t; simpl; [lra|]. apply (next_range (start T)); auto. Qed.
Lemma phase_with_model C t psi : proper_course C -> (forall i, 0 <= psi i <= 1) -> model (phase_with C t psi).
Proof. intros [R0 PC] F; split; simpl; auto; intros i; [intros j; apply PC|intros j; apply PC|apply PC]. Qed.
Lemma phase_model C T t : proper T -> proper_course C -> model (phase_at C T t).
Proof. intros PT PC; apply phase_with_model; auto; intros i. pose proof (credit_of_range C T t i PT).
  destruct PT as [S0 [Tp [Fl _]]]. apply (factor_range (start T) (floor T)); lra. Qed.
(* {thm-cbdrf-5} Over phases, a node is granted something exactly if its factor is positive; "granted nothing" means
   the same as in the rule for the credit. *)
Theorem granted_something r P y i : model P -> levels r P y -> (r = Scaled \/ r = Weighted \/ r = Capped) ->
  (i < n P)%nat -> present P i = true -> (0 < share r P y i <-> 0 < psi P i).
Proof. intros M L Rr I Hi. pose proof (factor P M i). pose proof (level_ge0 r P y i L I).
  pose proof (number_ge1 P i I Hi) as N1. assert (inv : 0 < / number P) by (apply Rinv_0_lt_compat; lra).
  destruct Rr as [->|[->| ->]].
  - apply scaled_is_drf in L; pose proof (equal_split P y i M L I Hi). unfold share; rewrite Hi. unfold Rdiv in *.
    split; intros; nra.
  - unfold share, weight; rewrite Hi. split; [nra|intros G]. apply Rmult_lt_0_compat; auto.
    assert (S : 0 < sum_of_factors P) by (apply sum_gt0 with i; auto; [intros; apply weight_ge0; auto|unfold weight;
    rewrite Hi; auto]). destruct (weighted_by_record P y i M L I Hi S) as [B _].
    unfold share, weight in B; rewrite Hi in B. assert (0 < psi P i / sum_of_factors P) by (unfold Rdiv;
    apply Rmult_lt_0_compat; auto; apply Rinv_0_lt_compat; auto). nra.
  - destruct (Rle_lt_or_eq_dec _ _ (proj2 H)) as [B|E].
    + rewrite capped_punished by auto. unfold Rdiv; split; intros; nra.
    + pose proof (capped_good P y i M L I Hi E). unfold Rdiv in *. split; intros; lra. Qed.
(* {prop-cbdrf-scaled-si} A node that always complies keeps the equal split in every phase, whatever the others do. *)
Theorem always_complying C T t i y : proper T -> proper_course C -> (i < nodes C)%nat ->
  (forall k, rho T <= releases C k i) -> comes C t i = true -> levels Scaled (phase_at C T t) y ->
  1 / number (phase_at C T t) <= share Scaled (phase_at C T t) y i.
Proof. intros PT PC I Rel Ct L. assert (G : forall k, start T <= credit_of C T k i).
  { intros k; induction k as [|k IH]; simpl; [lra|]. pose proof (credit_of_range C T k i PT).
    destruct PT as [S0 [Tp [Fl [Up Dn]]]]. unfold next. destruct (comes C k i), (Rlt_dec 0 (credit_factor (start T)
    (credit_of C T k i))), (Rle_dec (rho T) (releases C k i)); try (exfalso; apply n0; auto; fail); minmax. }
  destruct (scaled_by_record (phase_at C T t) y i (phase_model C T t PT PC) L I Ct) as [B _].
  assert (E : psi (phase_at C T t) i = 1). { simpl; unfold credit_factor. apply Rmin_left. destruct PT as [S0 _].
  apply Rmult_le_reg_r with (start T); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. specialize (G t); lra. }
  rewrite E in B; lra. Qed.
Lemma others_records C C' T i t h : claims_of C C' i -> h <> i -> credit_of C' T t h = credit_of C T t h.
Proof. intros [_ [_ [Re Ot]]] N; induction t as [|t IH]; simpl; [auto|]. rewrite IH, Re.
  destruct (Ot t h N) as [-> _]; auto. Qed.
(* {thm-cbdrf-5} Over phases, part 1: the node claims something in exactly the phases in which it needs something. *)
Theorem no_claims_pay_1 r C C' T i t y y' v : proper T -> proper_course C -> proper_course C' -> claims_of C C' i ->
  (forall k, comes C' k i = comes C k i) -> (i < nodes C)%nat -> comes C t i = true -> levels r (phase_at C T t) y ->
  levels r (phase_at C' T t) y' -> room (phase_at C T t) i (fun j => share r (phase_at C' T t) y' i * need C' t i j) v
  -> v <= share r (phase_at C T t) y i.
Proof. intros PT PC PC' Cl Same I Ct L L' Rm. assert (Cl' := Cl); destruct Cl' as [en [er [Re Ot]]].
  assert (own : forall k, credit_of C' T k i = credit_of C T k i) by (induction k as [|k IH]; simpl;
  [auto|rewrite IH, Re, Same; auto]). apply (no_lie_pays r (phase_at C T t) (phase_at C' T t) y y' i v); auto;
  try (apply phase_model; auto).
  - intros h; simpl. destruct (Nat.eq_dec h i) as [->|N]; [rewrite own; auto|rewrite (others_records C C' T i t h Cl N);
    auto].
  - intros h N; simpl; apply (Ot t h N). Qed.
(* {thm-cbdrf-5} Over phases, part 2: the floor is above 0, and the node claims something at least where it needs
   something. *)
Theorem no_claims_pay_2 r C C' T i t y y' v : proper T -> 0 < floor T -> proper_course C -> proper_course C' ->
  claims_of C C' i -> (forall k, comes C k i = true -> comes C' k i = true) -> (i < nodes C)%nat ->
  comes C t i = true -> levels r (phase_at C T t) y -> levels r (phase_at C' T t) y' ->
  room (phase_at C T t) i (fun j => share r (phase_at C' T t) y' i * need C' t i j) v ->
  v <= share r (phase_at C T t) y i.
Proof. intros PT Fp PC PC' Cl More I Ct L L' Rm. assert (Cl' := Cl); destruct Cl' as [en [er [Re Ot]]].
  pose proof PT as [S0 [Tp [Fl [Up Dn]]]]. assert (pos : forall D k, 0 < credit_factor (start T) (credit_of D T k i)).
  { intros D k; pose proof (credit_of_range D T k i PT). unfold credit_factor; apply Rmin_glb_lt; [lra|].
  apply Rdiv_lt_0_compat; lra. } assert (lower : forall k, credit_of C' T k i <= credit_of C T k i).
  { induction k as [|k IH]; simpl; [lra|]. pose proof (credit_of_range C T k i PT);
  pose proof (credit_of_range C' T k i PT). rewrite Re. pose proof (More k).
  destruct (Rlt_dec 0 (credit_factor (start T) (credit_of C' T k i))) as [_|Z]; [|exfalso; apply Z, pos].
  destruct (Rlt_dec 0 (credit_factor (start T) (credit_of C T k i))) as [_|Z]; [|exfalso; apply Z, pos].
  destruct (comes C k i); [rewrite H1 by auto|destruct (comes C' k i)]; destruct (Rle_dec (rho T) (releases C k i));
  unfold next; minmax. } set (c := credit_factor (start T) (credit_of C T t i)).
  set (c' := credit_factor (start T) (credit_of C' T t i)). assert (cc : c' <= c) by (apply factor_mono; auto;
  apply lower). assert (M : model (phase_at C T t)) by (apply phase_model; auto).
  assert (M' : model (phase_at C' T t)) by (apply phase_model; auto). assert (c1 : c <= 1) by apply Rmin_l.
  assert (c0 : 0 < c') by apply pos.
  (* the truth with the record that the lie has *)
  assert (Mc : model (with_record (phase_at C T t) i c')) by (apply with_record_model; auto; lra).
  destruct (grants_exist r _ Mc) as [z Lz]. apply Rle_trans with (share r (with_record (phase_at C T t) i c') z i).
  - apply (no_lie_pays r (with_record (phase_at C T t) i c') (phase_at C' T t) z y' i v); auto.
    + intros h; simpl. destruct (Nat.eqb_spec h i) as [->|N]; [auto|rewrite (others_records C C' T i t h Cl N); auto].
    + intros h N; simpl; apply (Ot t h N).
  - assert (E : with_record (phase_at C T t) i c = phase_at C T t).
    { unfold with_record, phase_at, phase_with, c; simpl; f_equal. apply functional_extensionality; intros h.
      destruct (Nat.eqb_spec h i) as [->|]; auto. }
    replace (share r (phase_at C T t) y i) with (share r (with_record (phase_at C T t) i c) y i) by (rewrite E; auto).
    rewrite <- E in L. apply (more_record r (phase_at C T t) z y i c' c); auto; try lra. Qed.
(* ok and ok' differ in what node i does: a phase under ok' is the same phase with another record of i. *)
Lemma phase_by_record C T ok ok' t i : (forall k h, h <> i -> ok' k h = ok k h) ->
  phase_by C T ok' t = with_record (phase_by C T ok t) i (credit_factor (start T) (credit_by T ok' t i)).
Proof. intros Ot. unfold phase_by, with_record, phase_with; simpl; f_equal. apply functional_extensionality; intros h.
  destruct (Nat.eqb_spec h i) as [->|N]; [auto|]. unfold credit_by. f_equal; f_equal.
  apply functional_extensionality; auto. Qed.
Lemma credit_by_factor T ok t i : proper T -> floor T <= credit_by T ok t i <= top T /\ 0 <= credit_factor (start T)
  (credit_by T ok t i) <= 1.
Proof. intros [S0 [Tp [Fl [Up Dn]]]]. assert (R : floor T <= credit_by T ok t i <= top T) by
  (apply (credit_range (start T)); auto). split; [auto|apply (factor_range (start T) (floor T)); lra]. Qed.
(* {prop-cbdrf-monotone} Node i complies wherever it complies under ok, and perhaps in more phases. Then it never has
   less credit or a smaller grant. *)
Theorem compliance_costs_nothing r C T ok ok' t i y y' : proper T -> proper_course C -> (forall k h, h <> i ->
  ok' k h = ok k h) -> (∀ k < t, ok k i = true -> ok' k i = true) -> (i < nodes C)%nat ->
  levels r (phase_by C T ok t) y -> levels r (phase_by C T ok' t) y' -> credit_by T ok t i <= credit_by T ok' t i /\
  share r (phase_by C T ok t) y i <= share r (phase_by C T ok' t) y' i.
Proof. intros PT PC Ot More I L L'. pose proof PT as [S0 [Tp [Fl [Up Dn]]]].
  assert (Cr : credit_by T ok t i <= credit_by T ok' t i) by (apply compliance_keeps_credit; auto). split; [auto|].
  destruct (comes C t i) eqn:H; [|unfold share, weight; simpl; rewrite H; destruct r; lra].
  rewrite (phase_by_record C T ok ok' t i) in * by auto. rewrite (phase_by_record C T ok ok t i) in L |- * at 1 by auto.
  destruct (credit_by_factor T ok t i PT), (credit_by_factor T ok' t i PT).
  apply more_record; auto; [|split; [lra|apply factor_mono; auto]|lra]. apply phase_with_model; auto.
  intros; apply credit_by_factor; auto. Qed.
(* {prop-cbdrf-monotone} Credit is capped at its initial value. If i complies in phase t, where it fails under ok, it is
   granted more in the next phase. *)
Theorem compliance_pays r C T ok ok' t i y y' : proper T -> top T = start T -> proper_course C -> (forall k h, h <> i ->
  ok' k h = ok k h) -> (∀ k < t, ok' k i = ok k i) -> ok t i = false -> ok' t i = true -> (i < nodes C)%nat ->
  comes C (S t) i = true -> let P := phase_by C T ok (S t) in let P' := phase_by C T ok' (S t) in (r = Scaled \/ r =
  Capped \/ r = Weighted /\ positive P /\ ∃ g < n P, g <> i /\ present P g = true /\ 0 < psi P g) -> levels r P y ->
  levels r P' y' -> share r P y i < share r P' y' i.
Proof. intros PT Cap PC Ot Same Fail Ok I H P P' Rr L L'. pose proof PT as [S0 [Tp [Fl [Up Dn]]]].
  assert (lt : credit_factor (start T) (credit_by T ok (S t) i) < credit_factor (start T) (credit_by T ok' (S t) i)).
  { assert (E : credit_by T ok' t i = credit_by T ok t i).
    { unfold credit_by. clear - Same. induction t as [|t IH]; simpl; [auto|]. rewrite IH, Same; auto. }
    unfold credit_by in *; simpl. rewrite Fail, Ok, E. apply complying_raises; auto.
    destruct (credit_by_factor T ok t i PT). unfold credit_by in *; lra. }
  assert (M : model P) by (apply phase_with_model; auto; intros; apply credit_by_factor; auto).
  pose proof (proj2 (credit_by_factor T ok (S t) i PT)). pose proof (proj2 (credit_by_factor T ok' (S t) i PT)).
  assert (Ep : P = with_record P i (credit_factor (start T) (credit_by T ok (S t) i))) by (apply phase_by_record; auto).
  unfold P' in *; rewrite (phase_by_record C T ok ok' (S t) i) in * by auto. fold P in L', L |- *. rewrite Ep in L.
  rewrite Ep at 1. destruct Rr as [R|[R|[-> [D [g [G [N [Hg Pg]]]]]]]]; [apply more_record_strict; auto; lra..|].
  apply (weighted_strict P y y' i g); auto; lra. Qed.
(* {whole} prop-cbdrf-bank prop-cbdrf-monotone lem-cbdrf-grants thm-cbdrf-1 thm-cbdrf-2 thm-cbdrf-3 thm-cbdrf-4
  thm-cbdrf-5 thm-cbdrf-6 thm-cbdrf-capped lem-cbdrf-weight
   prop-cbdrf-graded prop-cbdrf-scaled-si prop-cbdrf-use prop-cbdrf-weighted-pe
   prop-cbdrf-weighted-punitive prop-cbdrf-weighted-si *)
