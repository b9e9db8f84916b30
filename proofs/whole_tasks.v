(* Whole tasks of one pool, handed out one by one. *)
From proofs Require Import sums.
Local Open Scope R_scope.
(* {model} *)
(* n users with weights w and whole tasks, whose needs are d; bound i: how many tasks i has (None: always one more); m
   resources with capacities C; s i: the level of one task of i, its dominant share over its weight. *)
Record pool := Pool { n : nat; m : nat; C : nat -> R; w : nat -> R; d : nat -> nat -> R; s : nat -> R; bound : nat ->
  option nat }.
Definition model P := (forall j, 0 < C P j) /\ forall i, 0 < w P i /\ 0 < s P i /\
  (forall j, 0 <= d P i j <= s P i * w P i * C P j) /\
  ∃ j < m P, d P i j = s P i * w P i * C P j.
(* users have the tasks x *)
Definition load P (x : nat -> nat) j := Σ h < n P, INR (x h) * d P h j.
Definition feasible P x := ∀ j < m P, load P x j <= C P j.
Definition fits P x i := ∀ j < m P, load P x j + d P i j <= C P j.
Definition has_more P (x : nat -> nat) i := match bound P i with Some b => (x i < b)%nat | None => True end.
Definition can P x i := (i < n P)%nat /\ has_more P x i /\ fits P x i.
Definition one_more (x : nat -> nat) i h := if Nat.eqb h i then S (x h) else x h.
(* i is next: t = 0 looks at levels before the task (DRF task by task), t = 1 after it (SequentialMinMax) *)
Definition next P t x i := can P x i /\ forall h, can P x h -> s P i * (INR (x i) + t) <= s P h * (INR (x h) + t).
(* x k are the tasks after k steps; after T of them nobody can have one more *)
Definition run P t (x : nat -> nat -> nat) T := x O = (fun _ => O) /\ (∀ k < T, exists i, next P t (x k) i /\
  x (S k) = one_more (x k) i) /\
  forall i, ~ can P (x T) i.
(* {end} *)
Lemma need_ge0 P : model P -> forall i j, 0 <= d P i j.
Proof. intros [_ M] i j. destruct (M i) as [_ [_ [D _]]]. apply D. Qed.
Lemma load_le P x y j : (forall i j, 0 <= d P i j) -> (forall i, (x i <= y i)%nat) -> load P x j <= load P y j.
Proof. intros D L. apply sum_le; intros i _. apply Rmult_le_compat_r; [apply D|apply le_INR; auto]. Qed.
Lemma load_more P x y h j : (forall i j, 0 <= d P i j) -> (forall i, (x i <= y i)%nat) -> (h < n P)%nat ->
  load P x j + (INR (y h) - INR (x h)) * d P h j <= load P y j.
Proof. intros D L H. pose proof (sum_gap (n P) (fun i => INR (x i) * d P i j) (fun i => INR (y i) * d P i j)
  h ((INR (y h) - INR (x h)) * d P h j)) as G. unfold load. assert (sum (n P) (fun i => INR (x i) * d P i j)
  <= sum (n P) (fun i => INR (y i) * d P i j) - (INR (y h) - INR (x h)) * d P h j); [|lra]. apply G; auto; [|lra].
  intros i _. apply Rmult_le_compat_r; [apply D|apply le_INR; auto]. Qed.
Lemma refusal P x i : ~ fits P x i -> ∃ j < m P, C P j < load P x j + d P i j.
Proof. intros N. destruct (some_or_none (m P) (C P) (fun j => load P x j + d P i j)) as [E|A]; [auto|]. destruct N.
  intros j J. apply A; auto. Qed.
(* {lem-foundations-refused} A task of i is refused at x, and y comes later. User i could run z tasks, divided if need
   be, on what one task of h takes. *)
Theorem refused_stays_refused P x y i h z : (forall g j, 0 <= d P g j) -> (forall g, (x g <= y g)%nat) ->
  feasible P y -> ~ fits P x i -> (h < n P)%nat -> (∀ j < m P, z * d P i j <= d P h j) ->
  ~ fits P y i /\ (INR (y h) - INR (x h)) * z < 1.
Proof. intros D0 L F N H Z. destruct (refusal P x i N) as [j [J G]].
  pose proof (load_le P x y j D0 L) as Ld. pose proof (load_more P x y h j D0 L H) as Lm. split.
  - intros Fy. specialize (Fy j J). lra.
  - specialize (F j J). specialize (Z j J). pose proof (D0 h j) as D. set (k := INR (y h) - INR (x h)) in *.
    assert (K : 0 <= k) by (pose proof (le_INR _ _ (L h)); unfold k; lra). assert (k * d P h j < d P i j) by lra.
    assert (k * z * d P i j <= k * d P h j) by (rewrite Rmult_assoc; apply Rmult_le_compat_l; auto).
    assert (0 <= k * d P h j) by (apply Rmult_le_pos; auto). apply Rmult_lt_reg_r with (d P i j); lra. Qed.

Section Run.
(* {model} *)
(* of the two statements that follow with P, t, x and T *)
Variables (P : pool) (t : R) (x : nat -> nat -> nat) (T : nat).
Hypotheses (M : model P) (R : run P t x T).
(* {end} *)
Lemma grows a b i : (a <= b <= T)%nat -> (x a i <= x b i)%nat.
Proof. intros [L B]; induction L as [|b L IH]; [auto|]. specialize (IH ltac:(lia)). destruct R as [_ [St _]].
  destruct (St b B) as [g [_ E]]. rewrite E. unfold one_more. destruct (Nat.eqb i g); lia. Qed.
Lemma feasible_always k : (k <= T)%nat -> feasible P (x k).
Proof. destruct R as [R0 [St _]]. induction k as [|k IH]; intros K j J.
  - rewrite R0. unfold load. rewrite sum_zero; [apply Rlt_le, M|intros; simpl; lra].
  - destruct (St k K) as [g [[[G [_ F]] _] E]]. rewrite E. specialize (F j J). apply Rle_trans with (2 := F).
    unfold load. rewrite <- (sum_only (n P) g (fun h => d P h j) G), <- sum_plus. apply Req_le, sum_ext; intros h _.
    unfold one_more. destruct (Nat.eqb h g); [rewrite S_INR|]; lra. Qed.
Lemma when h c b : (b <= T)%nat -> (c < x b h)%nat -> ∃ k < b, x k h = c /\ next P t (x k) h.
Proof. intros B; induction b as [|b IH]; intros L; [destruct R as [R0 _]; rewrite R0 in L; lia|].
  destruct (le_lt_dec (x b h) c) as [Le|Lt]; [|destruct (IH ltac:(lia) Lt) as [k [K E]]; exists k; split; [lia|auto]].
  destruct R as [_ [St _]]. destruct (St b B) as [g [N E]]. rewrite E in L. unfold one_more in L.
  destruct (Nat.eqb_spec h g) as [->|]; [|lia]. exists b. split; [lia|split; [lia|auto]]. Qed.
Lemma more_before a b i : (a <= b <= T)%nat -> has_more P (x b) i -> has_more P (x a) i.
Proof. intros L. unfold has_more. destruct (bound P i); auto. pose proof (grows a b i L). lia. Qed.
(* the moment of the first refusal: i has all that it gets *)
Lemma first_refusal i : (i < n P)%nat -> has_more P (x T) i -> exists a, (a <= T)%nat /\ ~ fits P (x a) i /\
  x a i = x T i /\ ∀ k < a, can P (x k) i.
Proof. intros I Hm. assert (D : forall k, fits P (x k) i \/ ~ fits P (x k) i).
  { intros k. destruct (some_or_none (m P) (C P) (fun j => load P (x k) j + d P i j)) as [[j [J L]]|A]; [right;
    intros F; specialize (F j J); lra|left; exact A]. }
  destruct (least (S T) (fun k => ~ fits P (x k) i) INR) as [a [A [Na Least]]]. { intros k; destruct (D k); auto.
  } { exists T. split; [lia|]. intros F. apply (proj2 (proj2 R) i). split; [auto|split; auto]. }
  exists a. split; [lia|split; [auto|split]].
  - assert (forall b, (a <= b <= T)%nat -> x b i = x a i); [|symmetry; apply H; lia].
    intros b [L B]; induction L as [|b L IH]; [auto|]. rewrite <- (IH ltac:(lia)).
    destruct (proj1 (proj2 R) b B) as [g [[[_ [_ F]] _] E]]. rewrite E. unfold one_more.
    destruct (Nat.eqb_spec i g) as [->|]; [exfalso|auto]. apply Na. intros j J. specialize (F j J).
    pose proof (load_le P (x a) (x b) j (need_ge0 P M) (fun h => grows a b h ltac:(lia))). lra.
  - intros k K. split; [auto|split; [apply (more_before k T); auto; lia|]]. destruct (D k) as [|Nk]; [auto|exfalso].
    pose proof (Least k ltac:(lia) Nk) as Q. apply INR_le in Q. lia. Qed.
Lemma behind_until a i h : (a <= T)%nat -> (∀ k < a, can P (x k) i) -> (1 <= x a h)%nat ->
  s P h * (INR (x a h) - 1 + t) <= s P i * (INR (x a i) + t).
Proof. intros A Ok L. destruct (when h (pred (x a h)) a A ltac:(lia)) as [k [K [E [_ N]]]]. specialize (N i (Ok k K)).
  rewrite E in N. replace (INR (pred (x a h))) with (INR (x a h) - 1) in N by (replace (x a h) with (S (pred (x a h)))
  at 1 by lia; rewrite S_INR; lra). apply Rle_trans with (1 := N). apply Rmult_le_compat_l; [apply Rlt_le, M|].
  apply Rplus_le_compat_r, le_INR, grows; lia. Qed.
(* {lem-foundations-offset} *)
Theorem offset i h : 0 <= t <= 1 -> (i < n P)%nat -> (h < n P)%nat -> has_more P (x T) i -> w P i <= w P h ->
  (1 <= x T h)%nat -> ∃ j < m P, w P i / w P h * (INR (x T h) - 1 + t) * d P h j < (INR (x T i) + 1 + t) * d P i j.
Proof. intros T01 I H Hm W X. apply le_INR in X. simpl in X. set (A := INR (x T i) + 1 + t).
  set (B := INR (x T h) - 1 + t). set (q := w P i / w P h). assert (A1 : 1 <= A) by (unfold A;
  pose proof (pos_INR (x T i)); lra). assert (B0 : 0 <= B) by (unfold B; lra). assert (Wi : 0 < w P i) by apply M.
  assert (Wh : 0 < w P h) by apply M. assert (Q0 : 0 < q) by (apply Rdiv_lt_0_compat; auto).
  assert (Q1 : q <= 1) by (apply Rmult_le_reg_r with (w P h); auto; unfold q, Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
  destruct (some_or_none (m P) (fun j => q * B * d P h j) (fun j => A * d P i j)) as [E|All]; [auto|exfalso].
  assert (Si : 0 < s P i) by apply M. assert (Sh : 0 < s P h) by apply M. assert (AB : A * s P i <= B * s P h).
  { destruct M as [Cp Mu]. destruct (Mu i) as [_ [_ [_ [j [J Ej]]]]]. destruct (Mu h) as [_ [_ [Dh _]]].
    specialize (All j J). specialize (Dh j). specialize (Cp j). rewrite Ej in All.
    apply Rmult_le_reg_r with (w P i * C P j); [apply Rmult_lt_0_compat; auto|].
    replace (A * s P i * (w P i * C P j)) with (A * (s P i * w P i * C P j)) by ring. apply Rle_trans with (1 := All).
    replace (B * s P h * (w P i * C P j)) with (q * B * (s P h * w P h * C P j)) by (unfold q; field; lra).
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|apply Dh]. }
  set (v := s P i * (INR (x T i) + t)). assert (V : v = s P i * (A - 1)) by (unfold v, A; ring).
  destruct (least (x T h) (fun k => v < s P h * (INR k + t)) INR) as [k [K [Pk Least]]].
  { intros k. destruct (Rlt_dec v (s P h * (INR k + t))); auto. }
  { exists (pred (x T h)). assert (x T h <> O) by (intros Z; rewrite Z in X; simpl in X; lra). split; [lia|].
  replace (INR (pred (x T h))) with (INR (x T h) - 1) by (replace (x T h) with (S (pred (x T h))) at 1 by lia;
  rewrite S_INR; lra). fold B. nra. } assert (G : B <= A * (INR (x T h) - INR k)).
  { destruct k as [|k]; [simpl; unfold B in *; nra|]. destruct (Rlt_dec v (s P h * (INR k + t))) as [Lk|Nk];
    [pose proof (Least k ltac:(lia) Lk) as Q; apply INR_le in Q; lia|]. rewrite S_INR. apply Rnot_lt_le in Nk.
    rewrite V in Nk. apply Rmult_le_reg_l with (s P h); auto. assert (A * (s P h * (INR k + t)) <= B * s P h * (A - 1)).
    { apply Rle_trans with (A * (s P i * (A - 1))); [apply Rmult_le_compat_l; lra|].
      replace (A * (s P i * (A - 1))) with (A * s P i * (A - 1)) by ring. apply Rmult_le_compat_r; lra. }
    unfold B in *. nra. }
  destruct (when h k T (Nat.le_refl _) K) as [a [La [Ea [_ Nx]]]]. assert (Nf : ~ fits P (x a) i).
  { intros F. specialize (Nx i (conj I (conj (more_before a T i ltac:(lia) Hm) F))). rewrite Ea in Nx.
    assert (s P i * (INR (x a i) + t) <= v); [|lra]. apply Rmult_le_compat_l; [lra|].
    apply Rplus_le_compat_r, le_INR, grows; lia. }
  destruct (refusal P (x a) i Nf) as [j [J Cj]]. pose proof (load_more P (x a) (x T) h j (need_ge0 P M) (fun g => grows
  a T g ltac:(lia)) H) as Lm. rewrite Ea in Lm. pose proof (feasible_always T (Nat.le_refl _) j J) as Fj.
  assert (D : (INR (x T h) - INR k) * d P h j < d P i j) by lra. assert (Dh : 0 <= d P h j) by apply M.
  specialize (All j J). simpl in All. assert (B * d P h j <= A * (INR (x T h) - INR k) * d P h j) by
  (apply Rmult_le_compat_r; auto). assert (0 <= B * d P h j) by (apply Rmult_le_pos; auto). nra. Qed.
(* {thm-sequential_minmax-pareto} This holds of any rule that serves users while somebody can be served. *)
Theorem pareto y h : (forall i, (x T i <= y i)%nat) -> (h < n P)%nat -> (x T h < y h)%nat ->
  match bound P h with Some b => (y h <= b)%nat | None => True end -> ~ feasible P y.
Proof. intros L H Lt B F. apply (proj2 (proj2 R) h). split; [auto|split; [unfold has_more; destruct (bound P h);
  [lia|auto]|]]. intros j J. specialize (F j J). pose proof (load_more P (x T) y h j (need_ge0 P M) L H).
  assert (Dh : 0 <= d P h j) by apply M. assert (G : (S (x T h) <= y h)%nat) by lia. apply le_INR in G.
  rewrite S_INR in G. nra. Qed.
End Run.
(* {model} *)
(* SequentialMinMax as printed: the largest level of all users after the task is smallest *)
Definition largest_after P (x : nat -> nat) i v := (∃ h < n P, s P h * INR (one_more x i h) = v) /\
  ∀ h < n P, s P h * INR (one_more x i h) <= v.
Definition printed P x i := can P x i /\ forall h v u, can P x h -> largest_after P x i v -> largest_after P x h u ->
  v <= u.
(* {end} *)
Definition above P x := forall i, can P x i -> ∀ h < n P, s P h * INR (x h) <= s P i * (INR (x i) + 1).
Lemma printed_next P x i : model P -> above P x -> printed P x i -> next P 1 x i /\ above P (one_more x i).
Proof. intros M A [Ci Pr]. assert (N : (0 < n P)%nat) by (destruct Ci; lia).
  assert (top : forall g, can P x g -> largest_after P x g (s P g * (INR (x g) + 1))).
  { intros g Cg. split; [exists g; split; [apply Cg|unfold one_more; rewrite Nat.eqb_refl, S_INR; auto]|].
    intros h H. unfold one_more. destruct (Nat.eqb_spec h g) as [->|]; [rewrite S_INR; lra|apply A; auto]. }
  assert (Nx : next P 1 x i) by (split; [auto|intros h Ch; apply (Pr h); auto]). split; [auto|].
  intros g [G [Hg Fg]] h H. assert (Cg : can P x g).
  { split; [auto|split].
    - revert Hg. unfold has_more. destruct (bound P g); auto. unfold one_more.
      destruct (Nat.eqb_spec g i) as [->|]; lia.
    - intros j J. specialize (Fg j J). apply Rle_trans with (2 := Fg). apply Rplus_le_compat_r. apply load_le; [apply
      need_ge0; auto|]. intros k; unfold one_more; destruct (Nat.eqb k i); lia. }
  assert (T : s P i * (INR (x i) + 1) <= s P g * (INR (x g) + 1)) by (apply Nx; auto).
  assert (B : s P h * INR (one_more x i h) <= s P i * (INR (x i) + 1)) by (apply (proj2 (top i Ci) h H)).
  apply Rle_trans with (1 := B), Rle_trans with (1 := T). apply Rmult_le_compat_l; [apply Rlt_le, M|].
  apply Rplus_le_compat_r, le_INR. unfold one_more; destruct (Nat.eqb_spec g i) as [->|]; lia. Qed.
(* {lem-sequential_minmax-own} Each run of the rule as printed is a run of the rule that looks at a user's own level.
   *)
Theorem own_level P x T : model P -> x O = (fun _ => O) -> (∀ k < T, exists i, printed P (x k) i /\
  x (S k) = one_more (x k) i) -> (forall i, ~ can P (x T) i) -> run P 1 x T.
Proof. intros M X0 St E. split; [auto|split; [|auto]]. assert (A : forall k, (k <= T)%nat -> above P (x k)).
  { induction k as [|k IH]; intros K; [rewrite X0; intros i [I _] h H; simpl; destruct M as [_ Mu];
  destruct (Mu i) as [_ [Si _]]; lra|]. destruct (St k K) as [i [Pi Ei]]. rewrite Ei.
  apply (printed_next P (x k) i M); auto. apply IH; lia. } intros k K. destruct (St k K) as [i [Pi Ei]]. exists i.
  split; [|auto]. apply (printed_next P (x k) i M); auto. apply A; lia. Qed.
(* {lem-sequential_minmax-own} Nobody is raised above the level that i would reach at the end with one task more. *)
Theorem nobody_above P x T k i h : model P -> run P 1 x T -> (k < T)%nat -> can P (x k) i -> x (S k) h = S (x k h) ->
  s P h * (INR (x k h) + 1) <= s P i * (INR (x T i) + 1).
Proof. intros M R K Ci E. destruct (proj1 (proj2 R) k K) as [g [[_ L] Eg]]. rewrite Eg in E. unfold one_more in E.
  destruct (Nat.eqb_spec h g) as [->|]; [|lia]. apply Rle_trans with (1 := L i Ci). apply Rmult_le_compat_l;
  [apply Rlt_le, M|]. apply Rplus_le_compat_r, le_INR, (grows P 1 x T R); lia. Qed.
(* {model} *)
(* A mechanism f gives whole tasks to the users of each pool in which weights add up to 1 and nobody is bounded. k tasks
   of user i run on a bundle. *)
Definition plain P := model P /\ (Σ i < n P, w P i) = 1 /\ forall i, bound P i = None.
Definition run_on P i (bundle : nat -> R) k := ∀ j < m P, INR k * d P i j <= bundle j.
Definition pareto_optimal P x := feasible P x /\ forall i, ~ can P x i.
Definition shares P x := forall i k, (i < n P)%nat -> run_on P i (fun j => w P i * C P j) k -> (k <= x i)%nat.
Definition envy_free_up_to_own P x := forall i h k, (i < n P)%nat -> (h < n P)%nat ->
  run_on P i (fun j => w P i / w P h * (INR (x h) * d P h j)) k -> (k <= S (x i))%nat.
(* Q is P, but user i reports other demands *)
Definition misreports P Q i := n Q = n P /\ m Q = m P /\ C Q = C P /\ w Q = w P /\ forall h, h <> i -> d Q h = d P h.
Definition strategy_proof (f : pool -> nat -> nat) := forall P Q i k, plain P -> plain Q -> misreports P Q i ->
  (i < n P)%nat -> run_on P i (fun j => INR (f Q i) * d Q i j) k -> (k <= f P i)%nat.
Definition always (property : pool -> (nat -> nat) -> Prop) f := forall P, plain P -> property P (f P).
(* {end} *)
Definition two_users i b := Pool 2 1 (fun _ => 2) (fun _ => 1/2) (fun h _ => if Nat.eqb h i then b else 2)
  (fun h => if Nat.eqb h i then b else 2) (fun _ => None).
Lemma two_plain i b : 0 < b -> plain (two_users i b).
Proof. intros B. split; [split; [intros; simpl; lra|]|split; [simpl; lra|auto]]. intros h; simpl.
  split; [lra|split; [|split; [intros _|exists O; split; [lia|]]]]; destruct (Nat.eqb h i); lra. Qed.
(* {thm-sequential_minmax-incompatible} *)
Theorem honesty_has_a_price f : always pareto_optimal f -> strategy_proof f -> ~ always envy_free_up_to_own f /\
  ~ always shares f.
Proof. intros Po Sp. set (P := two_users 0 2). assert (H : (f P 0%nat = 0 \/ f P 1%nat = 0)%nat).
  { destruct (Po P (two_plain 0 2 ltac:(lra))) as [F _]. specialize (F O ltac:(simpl; lia)). unfold load in F. simpl in F.
    destruct (f P 0%nat) as [|a], (f P 1%nat) as [|b]; auto. exfalso. rewrite !S_INR in F. pose proof (pos_INR a).
    pose proof (pos_INR b). lra. } assert (L : ∃ i < 2, f P i = 0%nat) by (destruct H; [exists O|exists 1%nat]; auto).
  destruct L as [i [I Z]]. set (Q := two_users i 1). assert (Pq : plain Q) by (apply two_plain; lra). set (h := (1 - i)%nat).
  (* where i needs 1, it is not given 2 tasks, since it would claim that *)
  assert (few : f Q i <> 2%nat). { intros E. assert (1 <= f P i)%nat; [|lia]. apply (Sp P Q i 1%nat); auto.
    - apply two_plain; lra.
    - repeat split; auto. intros k N. unfold Q, P, two_users; simpl. destruct (Nat.eqb_spec k i); [tauto|].
      destruct (Nat.eqb k 0); auto.
    - intros j _. rewrite E. unfold Q, P, two_users; simpl. rewrite Nat.eqb_refl. destruct (Nat.eqb i 0); lra. }
  assert (one : f Q i = 0%nat /\ f Q h = 1%nat). { destruct (Po Q Pq) as [F N]. specialize (F O ltac:(simpl; lia)).
    assert (G : 2 < load Q (f Q) 0 + 1). { suppose G. apply (N i). split; [exact I|split; [exact Logic.I|]]. intros j J.
      assert (j = O) as -> by (simpl in J; lia). simpl in *. rewrite Nat.eqb_refl. lra. }
    assert (E : load Q (f Q) 0 = INR (f Q i) + 2 * INR (f Q h)) by (unfold load, h, Q; destruct i as [|[|]]; simpl; lra || lia).
    simpl in F. rewrite E in F, G. clear - F G few. destruct (f Q h) as [|[|b]]; rewrite ?S_INR in *; simpl in *.
    - exfalso. destruct (f Q i) as [|[|[|a]]]; rewrite ?S_INR in *; simpl in *; try lra; [tauto|pose proof (pos_INR a); lra].
    - split; [|auto]. destruct (f Q i) as [|a]; [auto|]. rewrite S_INR in *. pose proof (pos_INR a). lra.
    - pose proof (pos_INR b). pose proof (pos_INR (f Q i)). lra. }
  destruct one as [E0 E1]. split; intros A.
  - specialize (A Q Pq i h 2%nat). rewrite E0, E1 in A. assert (2 <= 1)%nat; [|lia]. apply A; [auto|simpl; lia|].
    intros j _. unfold Q, h; destruct i as [|[|]]; simpl; lra || lia.
  - specialize (A Q Pq i 1%nat I). rewrite E0 in A. assert (1 <= 0)%nat; [|lia]. apply A. intros j _. simpl.
    rewrite Nat.eqb_refl. lra. Qed.
(* {thm-sequential_minmax-sharing} *)
Theorem sharing P x T i : model P -> run P 1 x T -> (Σ h < n P, w P h) = 1 -> (i < n P)%nat -> has_more P (x T) i ->
  ∃ j < m P, w P i * C P j < (INR (x T i) + 1) * d P i j.
Proof. intros M R W I Hm. destruct (some_or_none (m P) (fun j => w P i * C P j) (fun j => (INR (x T i) + 1)
  * d P i j)) as [E|All]; [auto|exfalso]. destruct (first_refusal P 1 x T M R i I Hm) as [a [A [N [Ea Ok]]]]. apply N.
  intros j J. rewrite <- Ea in All. assert (K1 : s P i * (INR (x a i) + 1) <= 1).
  { destruct M as [Cp Mu]. destruct (Mu i) as [Wi [_ [_ [g [G Eg]]]]]. specialize (All g G). rewrite Eg in All.
    specialize (Cp g). apply Rmult_le_reg_r with (w P i * C P g); [apply Rmult_lt_0_compat; auto|lra]. }
  assert (each : ∀ h < n P, INR (x a h) * d P h j + (if Nat.eqb h i then d P h j else 0) <= w P h * C P j).
  { intros h H. destruct (Nat.eqb_spec h i) as [->|Ne]; [specialize (All j J); lra|]. rewrite Rplus_0_r.
    destruct M as [Cp Mu]. destruct (Mu h) as [Wh [Sh [D _]]]. specialize (D j).
    assert (0 <= w P h * C P j) by (apply Rmult_le_pos; apply Rlt_le; auto).
    destruct (le_lt_dec 1 (x a h)) as [L|L]; [|replace (x a h) with O by lia; simpl; lra].
    pose proof (behind_until P 1 x T (conj Cp Mu) R a i h A Ok L) as Q.
    apply Rle_trans with (INR (x a h) * (s P h * w P h * C P j)); [apply Rmult_le_compat_l; [apply pos_INR|apply D]|].
    replace (INR (x a h) * (s P h * w P h * C P j)) with (s P h * INR (x a h) * (w P h * C P j)) by ring.
    replace (w P h * C P j) with (1 * (w P h * C P j)) at 2 by ring. apply Rmult_le_compat_r; auto. lra. }
  unfold load. rewrite <- (sum_only (n P) i (fun h => d P h j) I), <- sum_plus.
  apply Rle_trans with (Σ h < n P, w P h * C P j); [apply sum_le; auto|]. rewrite sum_mul.
  change (sum (n P) (w P)) with (Σ h < n P, w P h). rewrite W. lra. Qed.
(* {thm-sequential_minmax-envy} *)
Theorem own_task P x T i h : model P -> run P 1 x T -> (i < n P)%nat -> (h < n P)%nat -> has_more P (x T) i ->
  w P i <= w P h -> ∃ j < m P, w P i / w P h * INR (x T h) * d P h j < (INR (x T i) + 2) * d P i j.
Proof. intros M R I H Hm W. destruct (le_lt_dec 1 (x T h)) as [L|L].
  - destruct (offset P 1 x T M R i h ltac:(lra) I H Hm W L) as [j [J Q]]. exists j. split; [auto|].
    replace (INR (x T h)) with (INR (x T h) - 1 + 1) by ring. replace (INR (x T i) + 2) with (INR (x T i) + 1 + 1) by
    ring. auto.
  - replace (x T h) with O by lia. destruct M as [Cp Mu]. destruct (Mu i) as [Wi [Si [_ [j [J E]]]]]. exists j.
    split; [auto|]. simpl. rewrite Rmult_0_r, Rmult_0_l, E. pose proof (pos_INR (x T i)).
    apply Rmult_lt_0_compat; [lra|]. repeat apply Rmult_lt_0_compat; auto. Qed.
(* {prop-sequential_minmax-before} {prop-compare-tasks} Part 2; weights are equal. *)
Theorem anothers_task P x T i h : model P -> run P 0 x T -> (i < n P)%nat -> (h < n P)%nat -> has_more P (x T) i ->
  w P i = w P h -> (1 <= x T h)%nat -> ∃ j < m P, (INR (x T h) - 1) * d P h j < (INR (x T i) + 1) * d P i j.
Proof. intros M R I H Hm W L. destruct (offset P 0 x T M R i h ltac:(lra) I H Hm ltac:(lra) L) as [j [J Q]]. exists j.
  split; [auto|]. assert (0 < w P h) by apply M. rewrite W in Q. replace (w P h / w P h) with 1 in Q by (field; lra).
  lra. Qed.
Lemma alone_less_the_mean P x T i z : model P -> run P 0 x T -> (i < n P)%nat -> has_more P (x T) i ->
  (forall h, w P h = / INR (n P)) -> (∀ j < m P, z * d P i j <= w P i * C P j) ->
  z * (s P i * w P i) < INR (x T i) * (s P i * w P i) + (Σ h < n P, s P h * w P h) / INR (n P).
Proof. intros M R I Hm W Z. destruct (first_refusal P 0 x T M R i I Hm) as [a [A [N [Ea Ok]]]].
  destruct (refusal P (x a) i N) as [j [J G]]. assert (N0 : 0 < INR (n P)) by (apply (lt_INR 0); lia).
  set (g := INR (x T i) * (s P i * w P i)). assert (Cj : 0 < C P j) by apply M.
  assert (each : ∀ h < n P, INR (x a h) * d P h j + (if Nat.eqb h i then d P h j else 0) <= (g + s P h * w P h)
  * C P j).
  { intros h H. assert (Gh : 0 <= g) by (unfold g; destruct M as [_ Mu]; destruct (Mu i) as [Wi [Si _]];
    repeat apply Rmult_le_pos; try lra; apply pos_INR). destruct M as [Cp Mu]. destruct (Mu h) as [Wh [Sh [D _]]].
    specialize (D j). assert (0 <= s P h * w P h) by (apply Rmult_le_pos; lra). destruct (Nat.eqb_spec h i) as [->|Ne].
    - rewrite Ea. unfold g. pose proof (pos_INR (x T i)). assert (INR (x T i) * d P i j <= INR (x T i)
      * (s P i * w P i * C P j)) by (apply Rmult_le_compat_l; lra). lra.
    - rewrite Rplus_0_r. destruct (le_lt_dec 1 (x a h)) as [L|L]; [|replace (x a h) with O by lia; simpl;
      rewrite Rmult_0_l; apply Rmult_le_pos; lra]. pose proof (behind_until P 0 x T (conj Cp Mu) R a i h A Ok L) as Q.
      rewrite !Rplus_0_r, Ea in Q. assert (INR (x a h) * (s P h * w P h) <= g + s P h * w P h).
      { unfold g. rewrite (W i), (W h). assert (0 < / INR (n P)) by (apply Rinv_0_lt_compat; auto).
        assert (s P h * (INR (x a h) - 1) * / INR (n P) <= s P i * INR (x T i) * / INR (n P)) by
        (apply Rmult_le_compat_r; lra). lra. }
      apply Rle_trans with (INR (x a h) * (s P h * w P h * C P j)); [apply Rmult_le_compat_l; [apply pos_INR|apply D]|].
      rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra. }
  assert (S1 : load P (x a) j + d P i j <= (INR (n P) * g + Σ h < n P, s P h * w P h) * C P j).
  { unfold load. rewrite <- (sum_only (n P) i (fun h => d P h j) I), <- sum_plus.
  apply Rle_trans with (Σ h < n P, (g + s P h * w P h) * C P j); [apply sum_le; auto|]. rewrite sum_mul, sum_plus.
  apply Rmult_le_compat_r; [lra|]. apply Rplus_le_compat_r. clear. induction (n P) as [|k IH]; [simpl; lra|].
  rewrite S_INR; simpl; lra. } assert (One : 1 < INR (n P) * g + Σ h < n P, s P h * w P h) by
  (apply Rmult_lt_reg_r with (C P j); lra). assert (Za : z * (s P i * w P i) <= / INR (n P)).
  { destruct M as [Cp Mu]. destruct (Mu i) as [_ [_ [_ [r [Hr E]]]]]. specialize (Z r Hr). rewrite E, W in Z.
    apply Rmult_le_reg_r with (C P r); [auto|]. rewrite W. lra. }
  apply Rle_lt_trans with (1 := Za). apply Rmult_lt_reg_r with (INR (n P)); auto. rewrite Rinv_l by lra. unfold Rdiv.
  rewrite Rmult_plus_distr_r, Rmult_assoc, Rinv_l by lra. lra. Qed.
(* {prop-compare-tasks} Part 1: all weights are 1/n, and s w is the dominant share of one task. User i could run z
   tasks on its own block, and has that many to run. *)
Theorem everybody_alone P x T i z : model P -> run P 0 x T -> (i < n P)%nat -> (forall h, w P h = / INR (n P)) ->
  (∀ j < m P, z * d P i j <= w P i * C P j) -> match bound P i with Some b => z <= INR b | None => True end ->
  z * (s P i * w P i) < INR (x T i) * (s P i * w P i) + (Σ h < n P, s P h * w P h) / INR (n P).
Proof. intros M R I W Z B. destruct (bound P i) as [b|] eqn:E; [|apply alone_less_the_mean; auto; unfold has_more;
  rewrite E; exact Logic.I]. destruct (le_lt_dec b (x T i)) as [L|L]; [|apply alone_less_the_mean; auto;
  unfold has_more; rewrite E; auto]. apply le_INR in L. destruct M as [_ Mu].
  assert (P0 : forall h, 0 < s P h * w P h) by (intros h; destruct (Mu h) as [? [? _]]; apply Rmult_lt_0_compat; auto).
  assert (0 < (Σ h < n P, s P h * w P h) / INR (n P)).
  { apply Rdiv_lt_0_compat; [apply sum_gt0 with i; auto; intros h _; apply Rlt_le; auto|apply (lt_INR 0); lia]. }
  specialize (P0 i). nra. Qed.
(* {model} *)
(* Users are in a queue until they leave it; one with the lowest level gets a task.
   With "stop" and without bounds nobody leaves before the end. *)
Definition least_in P (queue : nat -> bool) (x : nat -> nat) i := (i < n P)%nat /\ queue i = true /\
  ∀ h < n P, queue h = true -> s P i * INR (x i) <= s P h * INR (x h).
Definition stop P (x : nat -> nat -> nat) T := x O = (fun _ => O) /\
  ∀ k < T, exists i, least_in P (fun _ => true) (x k) i /\ x (S k) = one_more (x k) i.
(* {end} *)

(* {prop-foundations-task} *)
Theorem one_task_ahead P queue x i h : least_in P queue x i -> (h < n P)%nat -> queue h = true ->
  s P i * (INR (x i) + 1) <= s P h * INR (x h) + s P i.
Proof. intros [_ [_ L]] H Q. specialize (L h H Q). lra. Qed.
(* {prop-foundations-task} This holds at the end, with "stop". *)
Theorem one_task_ahead_at_the_end P x T i h : (forall g, 0 < s P g) -> stop P x T -> (i < n P)%nat -> (h < n P)%nat ->
  s P i * INR (x T i) <= s P h * INR (x T h) + s P i.
Proof. intros Sp [X0 St] I H. assert (All : forall k, (k <= T)%nat -> s P i * INR (x k i) <= s P h * INR (x k h)
  + s P i); [|apply All; auto]. induction k as [|k IH]; intros K; [rewrite X0; simpl; specialize (Sp i); lra|].
  destruct (St k K) as [g [[_ [_ L]] E]]. specialize (IH ltac:(lia)). rewrite E. unfold one_more.
  destruct (Nat.eqb_spec i g) as [->|]; [specialize (L h H eq_refl)|]; destruct (Nat.eqb_spec h g) as [->|];
  rewrite ?S_INR; pose proof (Sp g); lra. Qed.
(* {whole} lem-sequential_minmax-own thm-sequential_minmax-incompatible
  prop-foundations-task lem-foundations-refused lem-foundations-offset thm-sequential_minmax-pareto
   thm-sequential_minmax-sharing thm-sequential_minmax-envy prop-sequential_minmax-before prop-compare-tasks *)
