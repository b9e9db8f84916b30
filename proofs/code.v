(* Tied to the code: a checker on fractions of what the rules in plain Python give, and what it proves. *)
From Coq Require Import QArith Qreals List Bool.
From proofs Require Import sums.
From proofs Require foundations dmfa_srq.
Import ListNotations.
Local Open Scope R_scope.
(* {model} *)
Definition entry (s : list Q) i := nth i s 0%Q.
Definition cell (s : list (list Q)) i j := entry (nth i s []) j.
Definition within n m (f : nat -> nat -> Q) i j := if ((i <? n) && (j <? m))%nat then f i j else 0%Q.
Definition larger p q : Q := if Qle_bool p q then q else p.
Definition largest m (f : nat -> Q) := fold_right larger 0%Q (map f (seq 0 m)).
Definition qsum n (f : nat -> Q) := fold_right (fun i s => Qred (f i + s)) 0%Q (seq 0 n).
Definition all n f := forallb f (seq 0 n).
Definition some n f := existsb f (seq 0 n).
Definition lt_bool p q := negb (Qle_bool q p).

(* capacities C, demands D, weights, bounds on tasks, and the tasks that the rule gave *)
Record division := Division { C : list Q; D : list (list Q); weights : list Q; bounds : list (option Q); tasks :
  list Q }.
Definition n (d : division) := length (weights d).
Definition m (d : division) := length (C d).
Definition part d i j := (cell (D d) i j / entry (C d) j)%Q.
Definition a_level d i := Qred (entry (weights d) i / largest (m d) (part d i)).                       (* in tasks *)
Definition rate d := within (n d) (m d) (fun i j => Qred (a_level d i * part d i j)).
Definition levels d i := Qred (entry (tasks d) i / a_level d i).
Definition cap d i := option_map (fun u => Qred (u / a_level d i)) (nth i (bounds d) None).
Definition used d j := qsum (n d) (fun i => rate d i j * levels d i)%Q.
Definition stopped_by d i j := Qeq_bool (used d j) 1 && lt_bool 0 (rate d i j) && all (n d)
  (fun h => Qle_bool (rate d h j) 0 || Qle_bool (levels d h) (levels d i)).
Definition accepted d := all (n d) (fun i => lt_bool 0 (entry (weights d) i) && Qle_bool 0 (levels d i)
    && all (m d) (fun j => Qle_bool 0 (cell (D d) i j) && Qle_bool 0 (rate d i j) && Qle_bool (rate d i j)
      (entry (weights d) i))
    && some (m d) (fun j => Qeq_bool (rate d i j) (entry (weights d) i))
    && match cap d i with Some u => Qle_bool 0 u && Qle_bool (levels d i) u | None => true end
    && (match cap d i with Some u => Qeq_bool u (levels d i) | None => false end || some (m d) (stopped_by d i)))
  && all (m d) (fun j => lt_bool 0 (entry (C d) j) && Qle_bool (used d j) 1).
Definition pool_of d := foundations.Pool (n d) (m d) (fun i j => Q2R (rate d i j)) (fun i => Q2R (entry (weights d) i))
  (fun i => option_map Q2R (cap d i)).
Definition levels_of d i := Q2R (levels d i).
(* {end} *)
Lemma le_R p q : Qle_bool p q = true -> Q2R p <= Q2R q.
Proof. intros H; apply Qle_Rle, Qle_bool_iff, H. Qed.
Lemma lt_R p q : lt_bool p q = true -> Q2R p < Q2R q.
Proof. unfold lt_bool; intros H; apply Qlt_Rlt. apply Qnot_le_lt; intros L.
  apply Qle_bool_iff in L; rewrite L in H; discriminate. Qed.
Lemma eq_R p q : Qeq_bool p q = true -> Q2R p = Q2R q.
Proof. intros H; apply Qeq_eqR, Qeq_bool_iff, H. Qed.
Lemma zero_R : Q2R 0 = 0. Proof. unfold Q2R; simpl; lra. Qed.
Lemma one_R : Q2R 1 = 1. Proof. unfold Q2R; simpl; lra. Qed.
Lemma sum_R k (f : nat -> Q) : Q2R (qsum k f) = Σ i < k, Q2R (f i).
Proof. unfold qsum. assert (H : forall k s, Q2R (fold_right (fun i t => Qred (f i + t)) s (seq 0 k)) = (Σ i < k,
  Q2R (f i)) + Q2R s).
  { intros l; induction l as [|l IH]; intros s; [simpl; lra|]. rewrite seq_S, fold_right_app, IH; cbn [fold_right sum].
  rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus. simpl; lra. } rewrite H, zero_R; lra. Qed.
Lemma each k f i : all k f = true -> (i < k)%nat -> f i = true.
Proof. unfold all; rewrite forallb_forall; intros H I; apply H, in_seq; lia. Qed.
Lemma one_of k f : some k f = true -> ∃ j < k, f j = true.
Proof. intros H; apply existsb_exists in H as [j [J E]]. apply in_seq in J. exists j; split; [lia|auto]. Qed.
Lemma within_is (p : Q -> Prop) k l f i j : p 0%Q -> ((i < k)%nat -> (j < l)%nat -> p (f i j)) -> p (within k l f i j).
Proof. intros P0 H; unfold within. destruct (i <? k)%nat eqn:I, (j <? l)%nat eqn:J; simpl; auto.
  apply H; apply Nat.ltb_lt; auto. Qed.
(* {alg-foundations-filling} If the checker accepts a result of the code, it is the max-min fair division of the pool.
   *)
Theorem accepted_is_fair d : accepted d = true -> (∀ j < m d, 0 < Q2R (entry (C d) j) /\ ∀ i < n d, 0 <= Q2R (cell (D d)
  i j)) /\ foundations.model (pool_of d) /\ foundations.feasible (pool_of d) (levels_of d) /\
  foundations.certified (pool_of d) (levels_of d) /\ foundations.fair (pool_of d) (levels_of d).
Proof. unfold accepted; rewrite andb_true_iff; intros [Us Fr]. assert (U : ∀ i < n d, 0 < Q2R (entry (weights d) i) /\
  0 <= Q2R (levels d i) /\ (∀ j < m d, 0 <= Q2R (rate d i j) <= Q2R (entry (weights d) i) /\
  0 <= Q2R (cell (D d) i j)) /\ (∃ j < m d, Q2R (rate d i j) = Q2R (entry (weights d) i)) /\
  match cap d i with Some u => 0 <= Q2R u /\ Q2R (levels d i) <= Q2R u | None => True end /\ (cap d i <> None /\
  option_map Q2R (cap d i) = Some (Q2R (levels d i)) \/ ∃ j < m d, stopped_by d i j = true)).
  { intros i I. apply (each _ _ i) in Us; auto. rewrite !andb_true_iff, orb_true_iff in Us.
    destruct Us as [[[[[W L] A] S] B] Ce]. apply lt_R in W; apply le_R in L; rewrite zero_R in W, L. repeat split; auto.
    1, 2, 3: apply (each _ _ j) in A; auto; rewrite !andb_true_iff in A; destruct A as [[A1 A2] A3].
    1, 2, 3: apply le_R in A1, A2, A3; rewrite zero_R in A1, A2; auto.
    - apply one_of in S as [j [J E]]. exists j; split; [auto|apply eq_R; auto].
    - destruct (cap d i); [|auto]. rewrite andb_true_iff in B; destruct B as [B1 B2]; apply le_R in B1;
      apply le_R in B2; rewrite zero_R in B1; auto.
    - destruct Ce as [Ce|Ce]; [left|right; apply one_of; auto]. destruct (cap d i); [|discriminate].
      split; [discriminate|]. simpl; f_equal; apply eq_R; auto. }
  assert (UseR : forall j, foundations.use (pool_of d) (levels_of d) j = Q2R (used d j)).
  { intros j; unfold used; rewrite sum_R. apply sum_ext; intros i _; unfold levels_of; simpl; rewrite Q2R_mult; auto. }
  assert (Mo : foundations.model (pool_of d)).
  { split; simpl.
    - intros i I; destruct (U i I); lra.
    - intros i I Z; destruct (U i I); lra.
    - intros i j. unfold rate. apply (within_is (fun q => 0 <= Q2R q)); [rewrite zero_R; lra|]. intros I J.
      destruct (U i I) as [_ [_ [A _]]]. specialize (A j J). unfold rate, within in A. apply Nat.ltb_lt in I, J.
      rewrite I, J in A; apply A.
    - intros i j I. destruct (lt_dec j (m d)) as [J|J]; [apply (U i I); auto|]. destruct (U i I) as [W _].
      unfold rate, within. apply Nat.ltb_nlt in J. rewrite J, andb_false_r, zero_R. lra.
    - intros i I. apply (U i I).
    - intros i I. destruct (U i I) as [_ [_ [_ [_ [B _]]]]]. destruct (cap d i); simpl; [apply B|auto]. }
  assert (Fe : foundations.feasible (pool_of d) (levels_of d)).
  { split; [|split].
    - intros i I; apply (U i I).
    - intros i I. destruct (U i I) as [_ [_ [_ [_ [B _]]]]]. simpl. destruct (cap d i); simpl; [apply B|auto].
    - intros j J. rewrite UseR, <- one_R. apply le_R. apply (each _ _ j) in Fr; auto.
      rewrite andb_true_iff in Fr; apply Fr. }
  assert (Ce : foundations.certified (pool_of d) (levels_of d)). { intros i I.
  destruct (U i I) as [_ [_ [_ [_ [_ [[_ B]|[j [J E]]]]]]]]; [left; exact B|right; exists j]. unfold stopped_by in E.
  rewrite !andb_true_iff in E. destruct E as [[E1 E2] E3]. apply eq_R in E1; apply lt_R in E2; rewrite one_R in E1;
  rewrite zero_R in E2. split; [auto|split; [rewrite UseR; auto|split; [auto|]]]. intros h K Ah.
  apply (each _ _ h) in E3; auto. rewrite orb_true_iff in E3. destruct E3 as [Z|L]; [apply le_R in Z;
  rewrite zero_R in Z; simpl in Ah; lra|apply le_R; auto]. } split; [|split; [auto|split; [auto|split;
  [auto|apply foundations.certified_fair; auto]]]]. intros j J. split; [|intros i I; apply (U i I); auto].
  apply (each _ _ j) in Fr; auto. rewrite andb_true_iff in Fr. rewrite <- zero_R. apply lt_R, Fr. Qed.
(* {model} *)
(* what users need and bring, the events with which they come and go, and the lowest level after each *)
Record history := History { N : list (list Q); brings : list Q; resources : nat; comes : list nat; goes : list nat;
  lowest : list Q }.
Definition users h := length (brings h).
Definition events h := length (lowest h).
Definition unit_of h := within (users h) (resources h) (fun i j => Qred (cell (N h) i j / largest (resources h)
  (cell (N h) i))).
Definition course_of h := dmfa_srq.Course (users h) (resources h) (fun i j => Q2R (unit_of h i j))
  (fun i => Q2R (entry (brings h) i))
  (fun i => nth i (comes h) O) (fun i => Nat.min (nth i (goes h) O) (events h)).
Definition lowest_of h e := Q2R (entry (lowest h) e).
Fixpoint level h e i := larger 0 (match e with
  | O => if (nth i (comes h) O <=? 0)%nat then entry (lowest h) O else 0%Q
  | S f => if (nth i (comes h) O <=? e)%nat then larger (entry (lowest h) e) (level h f i) else 0%Q end).
Definition before h e i := match e with O => 0%Q | S f => level h f i end.
Definition here h e i := dmfa_srq.hereb (course_of h) e i.
Definition in_use h e j := qsum (users h) (fun i => if here h e i then entry (brings h) i * unit_of h i j * larger
  (entry (lowest h) e) (before h e i) else 0)%Q.
Definition pool h e := qsum (users h) (fun i => if (nth i (comes h) O <=? e)%nat then entry (brings h) i else 0%Q).
Definition accepted_run h := all (users h) (fun i => lt_bool 0 (entry (brings h) i)
    && all (resources h) (fun j => Qle_bool 0 (unit_of h i j) && Qle_bool (unit_of h i j) 1) && some (resources h)
      (fun j => Qeq_bool (unit_of h i j) 1))
  && all (events h) (fun e => negb (some (users h) (here h e)) ||
    all (resources h) (fun j => Qle_bool (in_use h e j) (pool h e)) && some (resources h) (fun j => Qeq_bool (in_use h e
      j) (pool h e)
      && some (users h) (fun i => here h e i && lt_bool 0 (unit_of h i j) && Qle_bool (before h e i) (entry (lowest h)
        e)))).
(* {end} *)
Lemma larger_R p q : Q2R (larger p q) = Rmax (Q2R p) (Q2R q).
Proof. unfold larger. destruct (Qle_bool p q) eqn:E; [rewrite Rmax_right; auto; apply le_R; auto|rewrite Rmax_left;
  auto]. apply Rlt_le, lt_R. unfold lt_bool; rewrite E; auto. Qed.
Lemma level_R h e i : Q2R (level h e i) = dmfa_srq.level (course_of h) (lowest_of h) e i.
Proof. induction e as [|e IH]; cbn [level dmfa_srq.level]; rewrite larger_R, zero_R; cbn [dmfa_srq.came course_of].
  - destruct (nth i (comes h) O <=? 0)%nat; [auto|rewrite zero_R; auto].
  - destruct (nth i (comes h) O <=? S e)%nat; [rewrite larger_R, IH; auto|rewrite zero_R; auto]. Qed.
(* {lem-dmfa_srq-use} If the checker accepts a result of the code, it is a run of the mechanism; so the theorems hold
   of it. *)
Theorem accepted_runs h : accepted_run h = true -> dmfa_srq.model (course_of h) /\ dmfa_srq.runs (course_of h)
  (lowest_of h).
Proof. unfold accepted_run; rewrite andb_true_iff; intros [Us Ev].
  assert (U : ∀ i < users h, 0 < Q2R (entry (brings h) i) /\ (∀ j < resources h, 0 <= Q2R (unit_of h i j) <= 1) /\
  ∃ j < resources h, Q2R (unit_of h i j) = 1).
  { intros i I. apply (each _ _ i) in Us; auto. rewrite !andb_true_iff in Us. destruct Us as [[W A] S].
    apply lt_R in W; rewrite zero_R in W. split; [auto|split].
    - intros j J; apply (each _ _ j) in A; auto. rewrite andb_true_iff in A; destruct A as [A B]; apply le_R in A;
      apply le_R in B; rewrite zero_R in A; rewrite one_R in B; auto.
    - apply one_of in S as [j [J E]]. exists j; split; [auto|]. apply eq_R in E; rewrite one_R in E; auto. }
  assert (range : forall i j, 0 <= Q2R (unit_of h i j) <= 1).
  { intros i j. destruct (lt_dec i (users h)) as [I|I], (lt_dec j (resources h)) as [J|J]; [apply (U i I); auto|..].
    all: assert (Z : unit_of h i j = 0%Q); [|rewrite Z, zero_R; lra].
    all: unfold unit_of, within; rewrite ?(proj2 (Nat.ltb_nlt _ _) J), ?(proj2 (Nat.ltb_nlt _ _) I), ?andb_false_r;
      auto. }
  assert (Mo : dmfa_srq.model (course_of h)).
  { split; simpl; [intros i I; apply (U i I)|intros; apply range|intros; apply range|intros i I; apply (U i I)]. }
  assert (beforeR : forall e i, Q2R (before h e i) = dmfa_srq.before (course_of h) (lowest_of h) e i) by (intros [|e] i;
  [apply zero_R|apply level_R]). assert (useR : forall e j, Q2R (in_use h e j) = dmfa_srq.use (course_of h)
  (lowest_of h) e j (lowest_of h e)).
  { intros e j; unfold in_use; rewrite sum_R. apply sum_ext; intros i _. unfold here.
    destruct (dmfa_srq.hereb (course_of h) e i); [|apply zero_R]. rewrite !Q2R_mult, larger_R, beforeR. reflexivity. }
  assert (poolR : forall e, Q2R (pool h e) = dmfa_srq.pool (course_of h) e). { intros e; unfold pool; rewrite sum_R.
  apply sum_ext; intros i _. simpl. destruct (nth i (comes h) O <=? e)%nat; [auto|apply zero_R]. }
  split; [auto|]. intros e [i Hi]. assert (E : (e < events h)%nat) by (destruct Hi as [_ [_ G]]; simpl in G; lia).
  apply (each _ _ e) in Ev; auto. rewrite orb_true_iff, negb_true_iff in Ev. destruct Ev as [Nb|Ev].
  { exfalso. assert (T : some (users h) (here h e) = true); [|congruence]. apply existsb_exists.
    exists i; split; [apply in_seq; destruct Hi; simpl in *; lia|]. apply dmfa_srq.hereb_here; auto. }
  rewrite andb_true_iff in Ev; destruct Ev as [F B]. split.
  - intros j J. rewrite <- useR, <- poolR. apply le_R. apply (each _ _ j F J).
  - apply one_of in B as [j [J B]]. rewrite andb_true_iff in B; destruct B as [Full B]. apply one_of in B as [g [G B]].
    rewrite !andb_true_iff in B. destruct B as [[Hg D] Lo]. apply eq_R in Full; apply lt_R in D; apply le_R in Lo.
    rewrite useR, poolR in Full. rewrite zero_R in D. rewrite beforeR in Lo.
    apply (dmfa_srq.nothing_larger_fits (course_of h) (lowest_of h) e j g); auto. apply dmfa_srq.hereb_here; auto. Qed.
