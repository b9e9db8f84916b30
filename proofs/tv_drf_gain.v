(* TV-DRF: what a lie can gain over two periods. *)
From proofs Require Import sums lemmas tv_drf tv_drf_fair.
Local Open Scope R_scope.
(* {model} *)
(* At the end of period t user i is at position Z t i in what it submits. In the next period it starts there if tasks
   wait, and behind all old tasks if they expire. Its G and what it has used before period t: *)
Definition from C (wait : bool) (Z : nat -> nat -> R) t i :=
  if wait then match t with O => 0 | S s => Z s i end else submitted C i t.
Definition before C wait Z t i := Σ s < t, (Z s i - from C wait Z s i).
Definition used_before C wait Z t i j := Σ s < t, (used C s i j (Z s i) - used C s i j (from C wait Z s i)).
(* Alone users come to A: in each period as far as they can. *)
Definition come_alone C wait A := forall t i, (t < 2)%nat -> (i < n C)%nat ->
  alone C t i (from C wait A t i) (A t i) /\ forall z, alone C t i (from C wait A t i) z -> z <= A t i.
(* Two periods of TV-DRF, with the constraint beta >= 1 or without it *)
Definition limits P (constraint : bool) V0 O := ∀ i < users P, if constraint then least_with_it P V0 O (lower P) i
  else lower P i = past P i.
Definition run C wait constraint A Z := ∀ t < 2, exists low,
  let P := Period C t (from C wait Z t) (before C wait Z t) low in
  limits P constraint (used_before C wait Z t) (used_before C wait A (S t)) /\ chosen P (before C wait Z (S t)).
(* Two users own one pool, a machine. Each task that user 0 submits in period s adds task s to its level. *)
Definition two_users C (task : nat -> R) := model C /\ positive C /\ one_pool C /\ weights C /\ n C = 2%nat /\
  K C = 1%nat /\ c C 0 0 = 1 /\ (Σ i < 2, p C i 0) = 1 /\ ∀ s < 2, 0 < task s /\ ∀ i < 2, 0 < size C i s.
(* User 0 claims to have x in period 0. *)
Definition claims C x := Course (n C) (m C) (K C) (c C) (p C) (w C)
  (fun i s => match i, s with O, O => x | _, _ => size C i s end) (a C).
(* With what it gets for its claims it can come to x in its true tasks; it comes to X, in order, as far as it can. *)
Definition can C Q wait Z X t x := from C wait X t 0%nat <= x <= submitted C 0 (S t) /\ ∀ j < m C, used C t 0 j x -
  used C t 0 j (from C wait X t 0%nat) <= used Q t 0 j (Z t 0%nat) - used Q t 0 j (from Q wait Z t 0%nat).
Definition in_order C Q wait Z X := ∀ t < 2, can C Q wait Z X t (X t 0%nat) /\ forall x, can C Q wait Z X t x ->
  x <= X t 0%nat.
(* how many tasks user 0 runs *)
Definition tasks C wait task (X : nat -> nat -> R) := Σ s < 2, (Σ t < 2, (part C 0 s (X t 0%nat) -
  part C 0 s (from C wait X t 0%nat))) / task s.
(* {end} *)
Lemma used_from C t i j x z : used C t i j z - used C t i j x = Σ s < S t, (part C i s z - part C i s x) * a C i s j.
Proof. unfold used. induction (S t) as [|k IH]; simpl; lra. Qed.
(* what one machine has room for *)
Lemma fits_1 C t X Z : model C -> K C = 1%nat -> (fits C t X Z <-> (∀ i < n C, 0 <= X i <= Z i /\
  Z i <= submitted C i (S t)) /\ ∀ j < m C, (Σ i < n C, (used C t i j (Z i) - used C t i j (X i))) <= c C 0 j).
Proof. intros M K1. split; intros [B F]; (split; [exact B|]).
  - intros j J. destruct F as [q [_ [Qs Qc]]]. apply Rle_trans with (2 := Qc O j ltac:(lia) J). apply Req_le, sum_ext.
    intros i I. rewrite used_from. apply sum_ext; intros s Hs. rewrite <- Qs, K1 by auto. simpl. ring.
  - exists (fun i s k => Rmax 0 (part C i s (Z i) - part C i s (X i))). split; [intros; apply Rmax_l|split].
    + intros i s I _. rewrite K1. simpl. rewrite Rmax_right; [ring|]. apply part_step; auto. apply (B i I).
    + intros k j Kk J. assert (k = O) as -> by lia. apply Rle_trans with (2 := F j J). apply Req_le, sum_ext.
      intros i I. rewrite used_from. apply sum_ext; intros s Hs. rewrite Rmax_right; [auto|]. apply part_step; auto.
      apply (B i I). Qed.
Lemma furthest C t i x z (room : nat -> R) : model C -> positive C -> (i < n C)%nat -> 0 <= x <= z ->
  (∃ j < m C, room j <= used C t i j z - used C t i j x) \/ submitted C i (S t) <= z -> forall y,
  y <= submitted C i (S t) -> (∀ j < m C, used C t i j y - used C t i j x <= room j) -> y <= z.
Proof. intros M Po I X [[j [J F]]|F] y Y R; [|lra]. suppose G. specialize (R j J).
  destruct (used_more C t i z y M ltac:(lra) Y) as [_ Up]. specialize (Up Po I j J). lra. Qed.
(* What the rule chooses on one machine. Users go on from x to y; then they have g, in this period they use N, and by
   its end V. It fits, with beta >= 1 under the constraint; a resource is used up, or all are served; nobody is ahead of
   an unfinished user, but by its lower limit. *)
Definition good C t (x y g : nat -> R) (N V O : nat -> nat -> R) (constraint : bool) :=
  (∀ i < n C, 0 <= x i <= y i /\ y i <= submitted C i (S t) /\ (constraint = true -> ∀ j < m C, O i j <= V i j)) /\
  (∀ j < m C, (Σ i < n C, N i j) <= c C 0 j) /\
  ((∃ j < m C, (Σ i < n C, N i j) = c C 0 j) \/ ∀ i < n C, submitted C i (S t) <= y i) /\
  ∀ i < n C, y i < submitted C i (S t) -> ∀ h < n C, g h <= g i \/ constraint = true /\ ∃ j < m C, V h j <= O h j.
Section decided.
Variables (C : course) (t : nat) (X past x y g : nat -> R) (V0 O0 N V O : nat -> nat -> R) (constraint : bool).
Hypotheses (M : model C) (Po : positive C) (K1 : K C = 1%nat) (Go : good C t x y g N V O constraint)
  (Ex : ∀ i < n C, X i = x i) (Eg : ∀ i < n C, g i = past i + (y i - x i))
  (En : forall i j, (i < n C)%nat -> (j < m C)%nat -> N i j = used C t i j (y i) - used C t i j (X i))
  (Ev : forall i j, (i < n C)%nat -> (j < m C)%nat -> V i j = V0 i j + N i j)
  (Eo : forall i j, (i < n C)%nat -> (j < m C)%nat -> O i j = O0 i j).
Lemma decided : (exists low, limits (Period C t X past low) constraint V0 O0) /\ forall low v, let P := Period C t X
  past low in limits P constraint V0 O0 -> (chosen P v <-> ∀ i < n C, v i = g i).
Proof. destruct Go as [B [F [U Or]]]. split.
  { destruct constraint; [|exists past; intros i I; auto]. destruct (choose (n C) (fun i l => least_with_it (Period C t
    X past past) V0 O0 (fun _ => l) i) 0) as [low L]; [|exists low; exact L]. intros i I. destruct (B i I) as [X0 [_
    R]]. apply beta_is_a_lower_limit with g; simpl; [exact M|rewrite Eg by auto; lra|]. intros j J. unfold by_now,
    position; simpl. replace (X i + (g i - past i)) with (y i) by (rewrite Ex, Eg by auto; ring).
    rewrite <- En, <- Ev, <- Eo by auto. auto. }
  intros low v P L. assert (key : forall v, (∀ i < n C, v i = g i) -> chosen P v /\ max_min (n C) (allowed P) v).
  { clear v. intros v E. assert (Ey : ∀ i < n C, position P v i = y i) by (intros i I; unfold position; simpl;
    rewrite E, Ex, Eg by auto; ring).
    assert (by_ : forall i j, (i < n C)%nat -> (j < m C)%nat -> by_now P V0 v i j = V i j)
      by (intros i j I J; unfold by_now; rewrite Ey, Ev, En by auto; auto).
    assert (Lo : ∀ i < n C, low i <= v i /\ past i <= low i). { intros i I. specialize (L i I). destruct (B i I) as [X0
      [_ R]]. destruct constraint; [|simpl in L; rewrite E, L, Eg by auto; lra]. destruct L as [Pl L]. split; [|exact
      Pl]. apply L; [simpl; rewrite E, Eg by auto; lra|]. intros j J. rewrite by_, <- Eo by auto. auto. }
    assert (Al : allowed P v). { split; [|intros; apply Lo; auto]. apply (fits_1 C t X (position P v) M K1). split.
      - intros i I. rewrite Ey, Ex by auto. specialize (B i I). lra.
      - intros j J. apply Rle_trans with (2 := F j J). apply Req_le, sum_ext; intros i I. rewrite Ey, En; auto. }
    assert (Mm : max_min (n C) (allowed P) v); [|split; [split; [exact Al|apply max_min_is_leximin; auto]|exact Mm]].
    intros v' [Fi Lo'] i I G. apply (fits_1 C t X (position P v') M K1) in Fi as [B' F'].
    assert (Gi : y i < position P v' i) by (rewrite <- Ey by auto; unfold position; lra). pose proof (B' i I) as Bi.
    destruct (some_or_none (n C) v' v) as [[h [H Less]]|No].
    - exists h. split; [auto|split; [auto|]]. destruct (Or i I ltac:(lra) h H) as [Le|[Ct [j [J Tight]]]];
      [rewrite !E by auto; auto|exfalso]. specialize (L h H). rewrite Ct in L. destruct L as [Pl L]. specialize (Lo' h
      H). simpl in *. assert (Le : low h <= v' h) by auto. apply L in Le; [|lra]. specialize (Le j J). unfold by_now in
      Le. destruct (used_more C t h (position P v' h) (y h) M) as [_ Up]; [specialize (B' h H); rewrite <- Ey by auto;
      unfold position in *; lra|apply (B h H)|]. specialize (Up Po H j J). rewrite Ev, En, Eo in Tight by auto. simpl in
      *. lra.
    - destruct U as [[j [J Full]]|Fin]; [|specialize (Fin i I); lra]. specialize (F' j J). rewrite <- Full in F'.
      exfalso. revert F'. apply Rlt_not_le, sum_lt with i; auto.
      + intros h H. rewrite En by auto. apply Rplus_le_compat_r, used_mono; auto. rewrite <- Ey by auto. specialize (No
        h H). unfold position. lra.
      + rewrite En by auto. apply Rplus_lt_compat_r. destruct (B i I). destruct (used_more C t i (y i) (position P v' i)
        M) as [_ Up]; [lra|lra|apply Up; auto]. }
  split; [|apply key]. intros Ch i I. destruct (key g (fun _ _ => eq_refl)) as [Cy My]. symmetry.
  apply (only_one (n C) (allowed P) g); auto; [apply Cy|apply Ch|apply Ch]. Qed.
End decided.
(* The same in numbers: r t i s is what user i, at the positions Z, runs in period t of what it submitted in period s.
  *)
Definition in_numbers C wait Z (r : nat -> nat -> nat -> R) i := forall t s, (t < 2)%nat -> (s < 2)%nat ->
  part C i s (Z t i) - part C i s (from C wait Z t i) = r t i s.
Definition amount C (r : nat -> nat -> nat -> R) t i j := Σ s < S t, r t i s * a C i s j.
Section numbers.
Variables (C : course) (wait : bool) (Z z : nat -> nat -> R) (r : nat -> nat -> nat -> R) (i : nat).
Lemma from_same t : (∀ s < t, Z s i = z s i) -> from C wait Z t i = from C wait z t i.
Proof. intros E. unfold from. destruct wait, t; auto. Qed.
Lemma before_same t : (∀ s < t, Z s i = z s i) -> before C wait Z t i = before C wait z t i.
Proof. intros E. apply sum_ext; intros s Hs. rewrite E, from_same by (auto; intros; apply E; lia). auto. Qed.
Hypothesis Nu : in_numbers C wait z r i.
Lemma used_is t j : (t < 2)%nat -> used C t i j (z t i) - used C t i j (from C wait z t i) = amount C r t i j.
Proof. intros T. rewrite used_from. apply sum_ext; intros s Hs. rewrite Nu by lia; auto. Qed.
Lemma used_before_is t j : (t <= 2)%nat -> (∀ s < t, Z s i = z s i) ->
  used_before C wait Z t i j = Σ s < t, amount C r s i j.
Proof. intros T E. apply sum_ext; intros s Hs. rewrite E, from_same by (auto; intros; apply E; lia).
  apply used_is; lia. Qed.
End numbers.
Lemma two_periods C wait constraint A o z r : model C -> positive C -> K C = 1%nat ->
  (∀ i < n C, in_numbers C wait A o i /\ in_numbers C wait z r i) -> (∀ t < 2, good C t (from C wait z t) (z t)
  (before C wait z (S t)) (amount C r t) (fun i j => Σ s < S t, amount C r s i j) (fun i j => Σ s < S t, amount C o s i
  j) constraint) -> (exists Z, run C wait constraint A Z) /\
  forall Z, run C wait constraint A Z -> ∀ t < 2, ∀ i < n C, Z t i = z t i.
Proof. intros M Po K1 Nu G. assert (D : forall Z t, (t < 2)%nat -> (∀ s < t, ∀ i < n C, Z s i = z s i) ->
    (exists low, limits (Period C t (from C wait Z t) (before C wait Z t) low) constraint (used_before C wait Z t)
    (used_before C wait A (S t))) /\ forall low v, let P := Period C t (from C wait Z t) (before C wait Z t) low in
    limits P constraint (used_before C wait Z t) (used_before C wait A (S t)) -> (chosen P v <-> ∀ i < n C, v i = before
    C wait z (S t) i)).
  { intros Z t T E. apply (decided C t _ _ (from C wait z t) (z t) _ _ _ (amount C r t) _ _ constraint M Po K1 (G t T)).
    - intros i I. apply from_same. auto.
    - intros i I. rewrite (before_same C wait Z z) by auto. reflexivity.
    - intros i j I J. rewrite (from_same C wait Z z) by auto. symmetry. apply used_is; auto. apply Nu; auto.
    - intros i j I J. rewrite (used_before_is C wait Z z r) by (auto; try lia; apply Nu; auto). reflexivity.
    - intros i j I J. symmetry. apply (used_before_is C wait A A o); auto. apply Nu; auto. }
  split.
  - exists z. intros t T. destruct (D z t T) as [[low L] H]; [auto|]. exists low. split; [exact L|apply H; auto].
  - intros Z R. induction t as [t IH] using lt_wf_ind. intros T i I. assert (E : ∀ s < t, ∀ i < n C, Z s i = z s i) by
    (intros s Hs; apply IH; auto; lia). destruct (R t T) as [low [L Ch]]. pose proof (proj1 (proj2 (D Z t T E) low _ L)
    Ch i I) as Eq. unfold before in Eq; simpl in Eq. fold (before C wait Z t i) (before C wait z t i) in Eq.
    rewrite (before_same C wait Z z), (from_same C wait Z z) in Eq by auto. lra. Qed.
(* It goes on as far as there is room. *)
Definition as_far C wait Z r (room : nat -> nat -> R) i := ∀ t < 2, let x := from C wait Z t i in 0 <= x <= Z t i /\
  Z t i <= submitted C i (S t) /\ (∀ j < m C, amount C r t i j <= room t j) /\
  ((∃ j < m C, room t j <= amount C r t i j) \/ submitted C i (S t) <= Z t i).
Lemma alone_in_numbers C wait A o : model C -> positive C -> K C = 1%nat -> (∀ i < n C, in_numbers C wait A o i /\
  as_far C wait A o (fun _ j => p C i 0 * c C 0 j) i) -> come_alone C wait A.
Proof. intros M Po K1 H t i T I. destruct (H i I) as [Nu Far]. destruct (Far t T) as [X [Y [F E]]].
  set (x := from C wait A t i) in *. split.
  - split; [auto|]. exists (fun s k => Rmax 0 (part C i s (A t i) - part C i s x)). assert (R : forall s, Rmax 0 (part C
    i s (A t i) - part C i s x) = part C i s (A t i) - part C i s x) by (intros s; apply Rmax_right, part_step; auto;
    lra). split; [intros; apply Rmax_l|split].
    + intros s _. rewrite K1. simpl. rewrite R. ring.
    + intros k j Kk J. assert (k = O) as -> by lia. apply Rle_trans with (2 := F j J). rewrite <- (used_is C wait A o i
      Nu) by auto. rewrite used_from. apply Req_le, sum_ext; intros s _. rewrite R; auto.
  - intros y [[_ Ys] [q [_ [Qs Qc]]]]. apply (furthest C t i x (A t i) (fun j => p C i 0 * c C 0 j)); auto.
    + destruct E as [[j [J E]]|]; [left; exists j; unfold x; rewrite (used_is C wait A o i Nu); auto|auto].
    + intros j J. rewrite used_from. apply Rle_trans with (2 := Qc O j ltac:(lia) J). apply Req_le, sum_ext; intros s
      Hs. rewrite <- Qs, K1 by auto. simpl; ring. Qed.
Lemma order_in_numbers C Q wait Z X u v : model C -> positive C -> (0 < n C)%nat -> in_numbers C wait X u 0 ->
  in_numbers Q wait Z v 0 -> as_far C wait X u (fun t j => amount Q v t 0 j) 0 -> in_order C Q wait Z X.
Proof. intros M Po I Nu Nv H t T. destruct (H t T) as [X0 [Y [F E]]]. split; [split; [lra|]|].
  - intros j J. rewrite (used_is C wait X u), (used_is Q wait Z v); auto.
  - intros x [[_ Lx] R]. apply (furthest C t 0 (from C wait X t 0%nat) (X t 0%nat) (amount Q v t 0)); auto.
    + destruct E as [[j [J E]]|]; [left; exists j; rewrite (used_is C wait X u); auto|auto].
    + intros j J. rewrite <- (used_is Q wait Z v) by auto. auto. Qed.
Lemma tasks_in_numbers C wait task X u : in_numbers C wait X u 0 -> tasks C wait task X = (u O O O + u 1%nat O O) / task
  O + (u O O 1%nat + u 1%nat O 1%nat) / task 1%nat.
Proof. intros Nu. unfold tasks; simpl. rewrite !Nu by lia. unfold Rdiv; ring. Qed.
Lemma same_numbers C wait Z z r i : (∀ t < 2, Z t i = z t i) -> in_numbers C wait z r i -> in_numbers C wait Z r i.
Proof. intros E Nu t s T Hs. rewrite (from_same C wait Z z), E by (auto; intros; apply E; lia). auto. Qed.
Definition expiring eps := Course 2 1 1 (fun _ _ => 1) (fun _ _ => 1/2) (fun _ => 1/2) (fun i s => match i, s with
  O, O => 2 | O, _ => 1 | _, O => 2 * eps | _, _ => 2 end) (fun _ _ _ => 1/2).
Definition waiting := Course 2 2 1 (fun _ _ => 1) (fun _ _ => 1/2) (fun _ => 1/2) (fun i s => match i, s with
  O, O => 11/5 | O, _ => 4 | _, O => 4/3 | _, _ => 4 end) (fun i s j => match i, s, j with O, _, O => 1/2 |
  O, _, _ => 1/3 | _, S _, O => 1/6 | _, _, _ => 1/2 end).
Definition at_ (a b c d : R) (t i : nat) := match t, i with O, O => a | O, _ => b | _, O => c | _, _ => d end.
(* What users 0 and 1 run in period 0; and in period 1, of what they submitted in period 0 and in period 1 *)
Definition table (a b c d e f : R) (t i s : nat) := match t, s, i with O, O, O => a | O, O, _ => b | O, _, _ => 0
  | _, O, O => c | _, O, _ => d | _, _, O => e | _, _, _ => f end.
Ltac each i I := destruct i as [|[|i]]; try (simpl in I; lia).
Ltac is_table := intros t s T Hs; each t T; each s Hs; unfold part, from, submitted; simpl; repeat match goal with
  | |- context [Rmin ?a ?b] => first [rewrite (Rmin_left a b) by lra|rewrite (Rmin_right a b) by lra]
  | |- context [Rmax ?a ?b] => first [rewrite (Rmax_left a b) by lra|rewrite (Rmax_right a b) by lra] end; lra.
Ltac num := unfold before, from, submitted, amount; simpl; lra.
Ltac some_j := first [exists O; split; [simpl; lia|num]|exists 1%nat; split; [simpl; lia|num]].
Ltac is_good := intros t T; each t T; (split; [intros i I; each i I; (split; [split; num|split; [num|intros Co j J;
  first [discriminate Co|each j J; num]]])|split; [intros j J; each j J; num|split; [first [left; some_j|right; intros i
  I; each i I; num]|intros i I Un h H; each i I; each h H; first [left; num|right; split; [reflexivity|some_j]|exfalso;
  apply (Rlt_not_le _ _ Un); num]]]]).
Ltac is_far := intros t T; each t T; (split; [split; num|split; [num|split; [intros j J; each j J; num|first [left;
  some_j|right; num]]]]).
Lemma claims_model C x : model C -> 0 <= x -> model (claims C x).
Proof. intros M X. split; try apply M. simpl. intros [|i] [|s]; auto; apply M. Qed.
(* {prop-tv_drf-unbounded} *)
Theorem no_factor_bounds_the_gain eps wait : 0 < eps <= 1/4 -> exists C x task A A', two_users C task /\
  0 < x < size C 0 0 /\ come_alone C wait A /\ come_alone (claims C x) wait A' /\ forall constraint,
  ((exists Z, run C wait constraint A Z) /\ forall Z, run C wait constraint A Z -> tasks C wait task Z < 2) /\
  (exists Z, run (claims C x) wait constraint A' Z) /\ forall Z, run (claims C x) wait constraint A' Z ->
  exists X, in_order C (claims C x) wait Z X /\ 1 / (30 * eps) < tasks C wait task X.
Proof. intros Ep. assert (In : 0 < / eps) by (apply Rinv_0_lt_compat; lra).
  set (task := fun s => match s with O => 2 | _ => 2 * eps end).
  assert (gain : forall v, v / (2 * eps) = v / 2 * / eps) by (intros; field; lra).
  assert (Gain : 1 / (30 * eps) = / eps / 30) by (field; lra). rewrite Gain; clear Gain.
  destruct wait.
  - assert (M : model waiting). { split; simpl; intros; try lra; try (destruct i, s, j; lra); [destruct i, s; lra|].
    destruct i as [|i], s as [|s]; first [exists O; split; [lia|lra]|exists 1%nat; split; [lia|lra]]. }
    assert (Po : positive waiting) by (intros i s j _ _; simpl; destruct i, s, j; lra).
    pose proof (claims_model waiting (2/3) M ltac:(lra)) as Mq. assert (Poq : positive (claims waiting (2/3))) by exact
    Po. set (A := at_ 1 1 2 2). set (A' := at_ (2/3) 1 (5/3) 2). set (z := at_ 1 1 (11/5) (11/5)).
    set (z' := at_ (2/3) (4/3) (34/15) (34/15)). set (X := at_ (2/3) 0 (34/15) 0). set (o := table 1 1 1 (1/3) 0 (2/3)).
    set (o' := table (2/3) 1 0 (1/3) 1 (2/3)). set (r := table 1 1 (6/5) (1/3) 0 (13/15)).
    set (r' := table (2/3) (4/3) 0 0 (8/5) (14/15)). set (u := table (2/3) 0 (23/15) 0 (1/15) 0).
    assert (Nu : ∀ i < 2, (in_numbers waiting true A o i /\ in_numbers waiting true z r i) /\ in_numbers (claims waiting
      (2/3)) true A' o' i /\ in_numbers (claims waiting (2/3)) true z' r' i) by (intros i I; each i I; (split; split;
      is_table)). assert (Nx : in_numbers waiting true X u 0) by is_table.
    exists waiting, (2/3), task, A, A'. split; [|split; [simpl; lra|split; [|split; [|intros constraint; split]]]].
    + split; [auto|split; [auto|split; [intros k j; auto|split; [intros i I; simpl; lra|]]]]. do 3 (split; [auto|]).
      split; [simpl; lra|].
      intros s Hs. split; [unfold task; destruct s; lra|intros i I; each i I; each s Hs; simpl; lra].
    + apply (alone_in_numbers waiting true A o); auto. intros i I; split; [apply Nu; auto|each i I; is_far].
    + apply (alone_in_numbers _ true A' o'); auto. intros i I; split; [apply Nu; auto|each i I; is_far].
    + destruct (two_periods waiting true constraint A o z r M Po eq_refl) as [Ex All]; [intros; apply Nu;
      auto|is_good|]. split; [exact Ex|]. intros Z R. specialize (All Z R). rewrite (tasks_in_numbers _ _ _ _ r) by
      (apply (same_numbers _ _ _ z); [intros; apply All; simpl; auto|apply Nu; lia]). unfold r, task; simpl. lra.
    + destruct (two_periods (claims waiting (2/3)) true constraint A' o' z' r' Mq Poq eq_refl) as [Ex All]; [intros;
      apply Nu; auto|is_good|]. split; [exact Ex|]. intros Z R. specialize (All Z R). exists X. split.
      * apply (order_in_numbers _ _ true Z X u r'); auto; [simpl; lia|apply (same_numbers _ _ _ z'); [intros; apply All;
        simpl; auto|apply Nu; lia]|is_far].
      * rewrite (tasks_in_numbers _ _ _ _ u Nx). unfold u, task; simpl. rewrite gain. lra.
  - set (C := expiring eps). assert (M : model C). { split; simpl; intros; try lra; [destruct i, s; lra|].
    exists O; split; [lia|auto]. }
    assert (Po : positive C) by (intros i s j _ _; simpl; lra).
    pose proof (claims_model C 1 M ltac:(lra)) as Mq. assert (Poq : positive (claims C 1)) by exact Po.
    set (A := at_ 1 (2 * eps) 3 (1 + 2 * eps)). set (A' := at_ 1 (2 * eps) 2 (1 + 2 * eps)).
    set (z := at_ (2 - 2 * eps) (2 * eps) (2 + 2 * eps) 2). set (o := table 1 (2 * eps) 0 0 1 1).
    set (r := table (2 - 2 * eps) (2 * eps) 0 0 (2 * eps) (2 - 2 * eps)).
    assert (Nu : ∀ i < 2, (in_numbers C false A o i /\ in_numbers C false z r i) /\ in_numbers (claims C 1) false A' o
      i) by (intros i I; each i I; (split; [split|]; is_table)).
    exists C, 1, task, A, A'. split; [|split; [simpl; lra|split; [|split; [|intros constraint; split]]]].
    + split; [auto|split; [auto|split; [intros k j; auto|split; [intros i I; simpl; lra|]]]]. do 3 (split; [auto|]).
      split; [simpl; lra|].
      intros s Hs. split; [unfold task; destruct s; lra|intros i I; each i I; each s Hs; simpl; lra].
    + apply (alone_in_numbers C false A o); auto. intros i I; split; [apply Nu; auto|each i I; is_far].
    + apply (alone_in_numbers _ false A' o); auto. intros i I; split; [apply Nu; auto|each i I; is_far].
    + destruct (two_periods C false constraint A o z r M Po eq_refl) as [Ex All]; [intros; apply Nu; auto|is_good|].
      split; [exact Ex|]. intros Z R. specialize (All Z R). rewrite (tasks_in_numbers _ _ _ _ r) by (apply
      (same_numbers _ _ _ z); [intros; apply All; simpl; auto|apply Nu; lia]). unfold r, task; simpl.
      replace ((0 + 2 * eps) / (2 * eps)) with 1 by (field; lra). lra.
    + set (y := if constraint then 2 else 3/2 + eps). assert (Y : 3/2 + eps <= y <= 2) by (unfold y; destruct
      constraint; lra). set (z' := at_ 1 (2 * eps) y (3 + 2 * eps - y)). set (r' := table 1 (2 * eps) 0 0 (y - 1) (3 -
      y)). assert (Nz : ∀ i < 2, in_numbers (claims C 1) false z' r' i) by (intros i I; each i I; is_table).
      destruct (two_periods (claims C 1) false constraint A' o z' r' Mq Poq eq_refl) as [Ex All]; [intros; split; [apply
      Nu|apply Nz]; auto|unfold z', r', y; destruct constraint; is_good|]. split; [exact Ex|]. intros Z R.
      specialize (All Z R). exists (at_ 1 0 (1 + y) 0). set (u := table 1 0 0 0 (y - 1) 0).
      assert (Nx : in_numbers C false (at_ 1 0 (1 + y) 0) u 0) by is_table. split.
      * apply (order_in_numbers _ _ false Z _ u r'); auto; [simpl; lia|apply (same_numbers _ _ _ z'); [intros; apply
        All; simpl; auto|apply Nz; lia]|is_far].
      * rewrite (tasks_in_numbers _ _ _ _ u Nx). unfold u, task; simpl. rewrite gain. nra. Qed.
(* {whole} prop-tv_drf-unbounded *)
