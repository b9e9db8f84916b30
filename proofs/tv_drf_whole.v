(* TV-DRF in whole tasks: Algorithm 1. *)
From proofs Require Import sums.
From proofs Require tv_drf.
Local Open Scope R_scope.
(* {model} *)
(* One period; what a user has used before it and would have used alone by its end is given. *)
Record period := Period {
  n : nat; m : nat; K : nat;            (* users, resources, machines *)
  c : nat -> nat -> R;                  (* what machine k has of resource j *)
  tasks : nat -> nat;                   (* how many tasks user i has *)
  need : nat -> nat -> nat -> R;        (* what task x of user i needs of resource j; they are numbered from 0 *)
  used : nat -> nat -> R; owned : nat -> nat -> R;      (* V before the period, O at its end *)
  beta : nat -> nat -> option R;        (* beta_i and G_i after x tasks *)
  G : nat -> nat -> R
}.
Definition load P i x j := Σ y < x, need P i y j.
Record model P : Prop := {
  need_ge0 : forall i x j, 0 <= need P i x j;
  capacity : forall k j, 0 <= c P k j;
  used_ge0 : forall i j, 0 <= used P i j;
  owned_ge0 : forall i j, 0 <= owned P i j;
  of_beta : forall i x, tv_drf.coefficient (m P) (fun j => used P i j + load P i x j) (owned P i) (beta P i x);
  G_grows : forall i x, G P i x <= G P i (S x)
}.
Definition less_than_1 b := match b with Some x => x < 1 | None => False end.
Definition beta_le b b' := match b, b' with Some x, Some z => x <= z | None, Some _ => False | _, None => True end.

(* how many tasks run, who has been refused, what machine k holds of resource j *)
Record state := State { x : nat -> nat; refused : nat -> bool; held : nat -> nat -> R }.
Definition begin := State (fun _ => O) (fun _ => false) (fun _ _ => 0).
Definition takes_part P s i := (i < n P)%nat /\ (x s i < tasks P i)%nat /\ refused s i = false.
Definition first_phase P s := exists h, takes_part P s h /\ less_than_1 (beta P h (x s h)).
Definition turn P s i := takes_part P s i /\
  (first_phase P s -> forall h, takes_part P s h -> beta_le (beta P i (x s i)) (beta P h (x s h))) /\
  (~ first_phase P s -> forall h, takes_part P s h -> G P i (x s i) <= G P h (x s h)).
Definition fits_on P s i k := (k < K P)%nat /\ ∀ j < m P, held s k j + need P i (x s i) j <= c P k j.
Definition one_more P s i k := State (fun h => if Nat.eqb h i then S (x s h) else x s h) (refused s)
  (fun l j => if Nat.eqb l k then held s l j + need P i (x s i) j else held s l j).
Definition without s i := State (x s) (fun h => if Nat.eqb h i then true else refused s h) (held s).
Inductive step P s : state -> Prop :=
  | put i k : turn P s i -> fits_on P s i k -> step P s (one_more P s i k)      (* on any machine, the best one, too *)
  | refuse i : turn P s i -> (forall k, ~ fits_on P s i k) -> step P s (without s i).
Inductive reaches P : state -> Prop := at_begin : reaches P begin | after s s' : reaches P s -> step P s s' ->
  reaches P s'.
Definition ends P s := reaches P s /\ forall i, ~ takes_part P s i.
Definition kept P s := forall i j, (i < n P)%nat -> (j < m P)%nat -> owned P i j <= used P i j + load P i (x s i) j.

(* what z tasks of each user need of resource j *)
Definition total P (z : nat -> nat) j := Σ i < n P, load P i (z i) j.
(* y is the least number of tasks with which beta >= 1; all tasks, if none suffices *)
Definition floor P h y := (∀ z < y, less_than_1 (beta P h z)) /\ (~ less_than_1 (beta P h y) \/ y = tasks P h).
(* {end} *)
Lemma load_mono P i y z j : model P -> (y <= z)%nat -> load P i y j <= load P i z j.
Proof. intros M; induction 1; [lra|]. unfold load in *; simpl. pose proof (need_ge0 P M i m0 j). lra. Qed.
Lemma load_ge0 P i y j : model P -> 0 <= load P i y j.
Proof. intros M; apply sum_ge0; intros; apply need_ge0; auto. Qed.
Lemma below_1 P i y : model P -> (less_than_1 (beta P i y) <-> ~ ∀ j < m P, owned P i j <= used P i j + load P i y j).
Proof. intros M. rewrite <- (tv_drf.coefficient_1 (m P) (fun j => used P i j + load P i y j) (owned P i)
  (beta P i y)).
  - destruct (beta P i y); simpl; [split; intros; lra|tauto].
  - intros j; pose proof (load_ge0 P i y j M); pose proof (used_ge0 P M i j); lra.
  - intros; apply owned_ge0; auto.
  - apply of_beta; auto. Qed.
Lemma below_1_dec P i y : {less_than_1 (beta P i y)} + {~ less_than_1 (beta P i y)}.
Proof. destruct (beta P i y); simpl; [apply Rlt_dec|right; tauto]. Qed.
Lemma takes_part_dec P s i : {takes_part P s i} + {~ takes_part P s i}.
Proof. unfold takes_part. destruct (lt_dec i (n P)), (lt_dec (x s i) (tasks P i)), (refused s i); try (right;
  intuition discriminate). left; auto. Qed.
Lemma first_phase_dec P s : {first_phase P s} + {~ first_phase P s}.
Proof. destruct (dec_ex (n P) (fun h => takes_part P s h /\ less_than_1 (beta P h (x s h)))) as [Y|N].
  - intros h; destruct (takes_part_dec P s h), (below_1_dec P h (x s h)); [left; auto|right; tauto..].
  - left; destruct Y as [h [_ [T B]]]; exists h; auto.
  - right; intros [h [T B]]; apply N; exists h; split; [apply T|auto]. Qed.
Lemma first_turn P s i : turn P s i -> first_phase P s -> less_than_1 (beta P i (x s i)).
Proof. intros [_ [F _]] Ph. specialize (F Ph). destruct Ph as [h [T B]]. specialize (F h T).
  unfold less_than_1, beta_le in *. destruct (beta P i (x s i)), (beta P h (x s h)); try tauto. lra. Qed.
(* ------------------------------------------------------------------------------------------- nothing is left undone *)
(* Who was refused stays refused: its next task fits on no machine. *)
Lemma refused_stays P s i k : model P -> reaches P s -> refused s i = true -> ~ fits_on P s i k.
Proof. intros M R; induction R as [|s s' R IH St]; [discriminate|]. intros Rf [Kk F].
  destruct St as [h l T Fl|h T No]; simpl in *.
  - destruct (Nat.eqb_spec i h) as [->|N]; [destruct T as [[_ [_ Tr]] _]; congruence|]. apply (IH Rf). split; auto.
    intros j J. specialize (F j J). simpl in F. destruct (Nat.eqb_spec i h); [tauto|].
    pose proof (need_ge0 P M h (x s h) j). destruct (Nat.eqb k l); lra.
  - destruct (Nat.eqb_spec i h) as [->|N]; [apply (No k); split; auto|]. apply (IH Rf); split; auto. Qed.
(* {lem-tv_drf-3} Part 2 *)
Theorem next_task_fits_nowhere P s i k : model P -> ends P s -> (i < n P)%nat -> (x s i < tasks P i)%nat ->
  ~ fits_on P s i k.
Proof. intros M [R E] I U. apply refused_stays; auto. destruct (refused s i) eqn:Rf; [auto|]. exfalso; apply (E i).
  split; auto. Qed.
Lemma held_on_one P s j : reaches P s -> K P = 1%nat -> held s 0 j = total P (x s) j.
Proof. intros R K1; induction R as [|s s' R IH St]; [unfold total; simpl; rewrite sum_zero; auto|].
  destruct St as [i k [[I _] _] [Kk _]|i _ _]; simpl; [|exact IH]. assert (k = O) as -> by lia. simpl. rewrite IH.
  unfold total. transitivity ((Σ h < n P, load P h (x s h) j) + Σ h < n P, if Nat.eqb h i then need P i (x s i)
  j else 0).
  - rewrite (sum_only (n P) i (fun _ => need P i (x s i) j)) by auto; auto.
  - rewrite <- sum_plus; apply sum_ext; intros h _. destruct (Nat.eqb_spec h i) as [->|]; unfold load; simpl; lra. Qed.
(* {thm-tv_drf-2-whole} The whole numbers z are tasks that fit on the machine. *)
Theorem nothing_better_in_whole P s z i : model P -> K P = 1%nat -> ends P s ->
  (∀ h < n P, (x s h <= z h <= tasks P h)%nat) -> (∀ j < m P, total P z j <= c P 0 j) -> (i < n P)%nat ->
  (z i <= x s i)%nat.
Proof. intros M K1 E Z F I. destruct (le_lt_dec (z i) (x s i)) as [|L]; [auto|exfalso]. pose proof (Z i I) as Zi.
  apply (next_task_fits_nowhere P s i 0 M E I); [lia|]. split; [lia|]. intros j J.
  rewrite (held_on_one P s j (proj1 E) K1). apply Rle_trans with (2 := F j J).
  apply Rle_trans with ((Σ h < n P, load P h (x s h) j) + Σ h < n P, if Nat.eqb h i then need P i (x s i) j else 0).
  - rewrite (sum_only (n P) i (fun _ => need P i (x s i) j)) by auto; apply Rle_refl.
  - unfold total; rewrite <- sum_plus; apply sum_le; intros h H. pose proof (Z h H).
    destruct (Nat.eqb_spec h i) as [->|]; [|rewrite Rplus_0_r; apply load_mono; auto; lia].
    change (load P i (x s i) j + need P i (x s i) j) with (load P i (S (x s i)) j). apply load_mono; auto. Qed.
(* ------------------------------------------------------------------------------------------- no less than alone *)
(* {model} *)
(* user i has the part p i of the machine, and its first own i tasks fit there;
   with them its coefficient is at least 1 *)
Definition own_fit P (p : nat -> R) (own : nat -> nat) := (Σ i < n P, p i) <= 1 /\
  ∀ i < n P, (own i <= tasks P i)%nat /\
  ∀ j < m P, load P i (own i) j <= p i * c P 0 j /\ owned P i j <= used P i j + load P i (own i) j.
(* {end} *)
Lemma served P p own s : model P -> K P = 1%nat -> own_fit P p own -> reaches P s ->
  (∀ i < n P, (x s i <= own i)%nat /\ refused s i = false) \/ kept P s.
Proof. intros M K1 [Pp Own] R. induction R as [|s s' R IH St]; [left; intros; simpl; split; [lia|auto]|].
  assert (stays : kept P s -> kept P s').
  { intros H i j I J. apply Rle_trans with (1 := H i j I J). apply Rplus_le_compat_l, load_mono; auto.
  destruct St as [h k _ _|h _ _]; simpl; [|lia]. destruct (Nat.eqb i h); lia. } destruct IH as [L|H]; [|right; auto].
  assert (own_1 : forall i y, (i < n P)%nat -> less_than_1 (beta P i y) -> (y < own i)%nat).
  { intros i y I B. destruct (le_lt_dec (own i) y) as [Le|]; [exfalso|auto]. apply below_1 in B; auto.
    apply B; intros j J. destruct (Own i I) as [_ O]. specialize (O j J). pose proof (load_mono P i _ _ j M Le). lra. }
  destruct (first_phase_dec P s) as [F|N].
  - left. assert (room : forall i, turn P s i -> fits_on P s i 0).
    { intros i T. pose proof (own_1 i (x s i) (proj1 (proj1 T)) (first_turn P s i T F)) as Lt. split; [lia|].
      intros j J. rewrite (held_on_one P s j R K1). apply Rle_trans with (Σ h < n P, load P h (own h) j).
      - apply Rle_trans with ((Σ h < n P, load P h (x s h) j) + Σ h < n P, if Nat.eqb h i then need P i (x s i)
        j else 0).
        + rewrite (sum_only (n P) i (fun _ => need P i (x s i) j)) by apply T. apply Rle_refl.
        + rewrite <- sum_plus; apply sum_le; intros h H. destruct (L h H).
          destruct (Nat.eqb_spec h i) as [->|]; [|rewrite Rplus_0_r; apply load_mono; auto].
          change (load P i (x s i) j + need P i (x s i) j) with (load P i (S (x s i)) j). apply load_mono; auto.
      - apply Rle_trans with (Σ h < n P, p h * c P 0 j); [apply sum_le; intros h H; apply (Own h H); auto|].
        rewrite (sum_mul (n P) (fun h => p h)). pose proof (capacity P M 0 j). nra. }
    intros i I. destruct (L i I) as [Li Ri]. destruct St as [h k T _|h T No]; simpl; [|exfalso;
    exact (No O (room h T))]. split; [|auto]. destruct (Nat.eqb_spec i h) as [->|]; [|auto]. apply own_1; auto.
    apply first_turn; auto.
  - right. apply stays. intros i j I J. suppose Bad. assert (B : less_than_1 (beta P i (x s i))) by (apply below_1;
    auto; intros Q; specialize (Q j J); lra). apply N; exists i; split; [|auto]. destruct (L i I) as [_ Ri].
    pose proof (own_1 i _ I B). destruct (Own i I). split; [auto|split; [lia|auto]]. Qed.
(* {thm-tv_drf-1-whole} This is the statement for one period. *)
Theorem everybody_is_served P p own s : model P -> K P = 1%nat -> own_fit P p own -> ends P s -> kept P s.
Proof. intros M K1 O [R E]. destruct (served P p own s M K1 O R) as [L|]; [|auto]. destruct O as [_ Own].
  intros i j I J. destruct (L i I) as [_ Ri], (Own i I) as [Lo O].
  assert (~ (x s i < tasks P i)%nat) by (intros U; apply (E i); split; auto). destruct (O j J) as [_ Oj].
  pose proof (load_mono P i (own i) (x s i) j M ltac:(lia)). lra. Qed.
(* {thm-tv_drf-1-whole} Tasks expire; in period t user i has run x (s t) i tasks, and would have run own t i alone. *)
Theorem expiring_no_less_in_whole (P : nat -> period) (s : nat -> state) p own N J : (forall t, model (P t) /\
  K (P t) = 1%nat /\ n (P t) = N /\ m (P t) = J) -> (forall t i j, used (P t) i j = Σ r < t, load (P r) i (x (s r) i) j)
  -> (forall t i j, owned (P t) i j = Σ r < S t, load (P r) i (own r i) j) -> (Σ i < N, p i) <= 1 ->
  (forall t i, (i < N)%nat -> (own t i <= tasks (P t) i)%nat /\ ∀ j < J, load (P t) i (own t i) j <= p i * c (P t) 0 j)
  -> (forall t, ends (P t) (s t)) -> forall t, kept (P t) (s t).
Proof. intros H V O Pp A E t. assert (Go : forall t, (forall i j, (i < N)%nat -> (j < J)%nat ->
  (Σ r < t, load (P r) i (own r i) j) <= Σ r < t, load (P r) i (x (s r) i) j) -> kept (P t) (s t)).
  { intros u IH. destruct (H u) as [M [K1 [En Em]]]. apply (everybody_is_served (P u) p (own u)); auto.
    split; [rewrite En; auto|]. rewrite En, Em. intros i I. destruct (A u i I) as [T F]. split; [auto|].
    intros j Jj; split; [auto|]. rewrite O, V. simpl. specialize (IH i j I Jj). lra. }
  apply Go. induction t as [|t IH]; intros i j I Jj; [simpl; lra|]. destruct (H t) as [_ [_ [En Em]]].
  specialize (Go t IH i j ltac:(lia) ltac:(lia)). rewrite O, V in Go. exact Go. Qed.
(* {thm-tv_drf-1-whole} Tasks wait. In the queue of user i task z needs d i z j. By period t user i has come to X t i
   in it, and would have come to Z t i alone. *)
Theorem waiting_no_less_in_whole (P : nat -> period) (s : nat -> state) (d : nat -> nat -> nat -> R) (X Z : nat ->
  nat -> nat) p N J : (forall t, model (P t) /\ K (P t) = 1%nat /\ n (P t) = N /\ m (P t) = J) ->
  (∀ i < N, forall z, ∃ j < J, 0 < d i z j) -> (forall i z j, 0 <= d i z j) -> (forall t i y j,
  need (P t) i y j = d i (X t i + y)%nat j) -> (forall t i j, used (P t) i j = Σ z < X t i, d i z j) -> (forall t i j,
  owned (P t) i j = Σ z < Z (S t) i, d i z j) -> (forall i, X 0%nat i = O /\ Z 0%nat i = O) ->
  (forall t i, X (S t) i = (X t i + x (s t) i)%nat) ->
  (Σ i < N, p i) <= 1 -> (forall t i, (i < N)%nat -> (Z t i <= Z (S t) i <= X t i + tasks (P t) i)%nat /\
  ∀ j < J, (Σ z < Z (S t) i, d i z j) - (Σ z < Z t i, d i z j) <= p i * c (P t) 0 j) -> (forall t, ends (P t) (s t)) ->
  forall t, kept (P t) (s t).
Proof. intros H D D0 Ne V O S0 Xs Pp A E. assert (mono : forall i a b j, (a <= b)%nat ->
  (Σ z < a, d i z j) <= Σ z < b, d i z j). { intros i a b j; induction 1; [lra|]. simpl. pose proof (D0 i m0 j). lra. }
  assert (ld : forall t i y j, load (P t) i y j = (Σ z < X t i + y, d i z j) - Σ z < X t i, d i z j).
  { intros t i y j; rewrite sum_add. unfold load. rewrite (sum_ext y _ (fun z => d i (X t i + z)%nat j)) by (intros;
  apply Ne). lra. } assert (Go : forall t, (∀ i < N, (Z t i <= X t i)%nat) -> kept (P t) (s t)).
  { intros t IH. destruct (H t) as [M [K1 [En Em]]]. apply (everybody_is_served (P t) p (fun i => Z (S t)
    i - X t i)%nat); auto. split; [rewrite En; auto|]. rewrite En, Em. intros i I. destruct (A t i I) as [T F].
    specialize (IH i I). split; [lia|]. intros j Jj. specialize (F j Jj). rewrite O, V, ld.
    pose proof (mono i (Z t i) (X t i) j IH). pose proof (mono i (Z (S t) i) (X t i + (Z (S t)
    i - X t i))%nat j ltac:(lia)). split; [|lra]. destruct (le_lt_dec (Z (S t) i) (X t i)) as [L|L].
    - replace (X t i + (Z (S t) i - X t i))%nat with (X t i) in * by lia.
      pose proof (mono i (Z t i) (Z (S t) i) j ltac:(lia)). lra.
    - replace (X t i + (Z (S t) i - X t i))%nat with (Z (S t) i) in * by lia. lra. }
  intros t; apply Go. induction t as [|t IH]; intros i I; [destruct (S0 i); lia|]. destruct (H t) as [_ [_ [En Em]]].
  destruct (le_lt_dec (Z (S t) i) (X (S t) i)) as [|L]; [auto|exfalso]. destruct (D i I (X (S t) i)) as [j [Jj Pos]].
  specialize (Go t IH i j ltac:(lia) ltac:(lia)). rewrite O, V, ld, <- Xs in Go.
  pose proof (mono i (S (X (S t) i)) (Z (S t) i) j ltac:(lia)) as Le. simpl in Le. lra. Qed.
(* ------------------------------------------------------------------------------------------- how far ahead *)
Lemma G_mono P h y z : model P -> (y <= z)%nat -> G P h y <= G P h z.
Proof. intros M; induction 1; [lra|]. pose proof (G_grows P M h m0). lra. Qed.
(* {lem-tv_drf-whole} Part 1: the last task that h ran adds G h x - G h (x - 1). *)
Theorem ahead_by_one_task P s i h y : model P -> reaches P s -> (i < n P)%nat -> (x s i < tasks P i)%nat ->
  refused s i = false -> floor P h y -> G P h (x s h) <= Rmax (G P i (x s i) + (G P h (x s h) - G P h (pred (x s h))))
  (G P h y).
Proof. intros M R I; induction R as [|s s' R IH St]; intros U Rf Fl; [simpl;
  apply Rle_trans with (2 := Rmax_r _ _), G_mono; auto; lia|]. assert (before : takes_part P s i).
  { split; [auto|]. destruct St as [g k _ _|g _ _]; simpl in *; [destruct (Nat.eqb i g); split; auto; lia|].
  destruct (Nat.eqb i g); [discriminate|auto]. } assert (IH' := IH (proj1 (proj2 before)) (proj2 (proj2 before)) Fl).
  clear IH. destruct St as [g k T _|g _ _]; simpl in *; [|exact IH']. destruct (Nat.eqb_spec h g) as [->|N].
  - simpl. destruct (first_phase_dec P s) as [F|F].
    + apply Rle_trans with (2 := Rmax_r _ _), G_mono; auto. pose proof (first_turn P s g T F) as B.
      destruct (le_lt_dec y (x s g)) as [L|L]; [exfalso|lia]. destruct Fl as [_ [Fl|Fl]]; [|destruct T as [[_ [T _]] _];
      lia]. apply Fl, below_1; auto. intros Q. apply below_1 in B; auto. apply B. intros j J.
      apply Rle_trans with (1 := Q j J), Rplus_le_compat_l, load_mono; auto.
    + apply Rle_trans with (2 := Rmax_l _ _). destruct T as [_ [_ T]]. specialize (T F i before).
      destruct (Nat.eqb_spec i g) as [->|]; [pose proof (G_grows P M g (x s g))|]; lra.
  - apply Rle_trans with (1 := IH'). apply Rle_max_compat_r, Rplus_le_compat_r, G_mono; auto.
    destruct (Nat.eqb i g); lia. Qed.
Lemma held_fits P s j : model P -> K P = 1%nat -> (j < m P)%nat -> reaches P s -> held s 0 j <= c P 0 j.
Proof. intros M K1 J R; induction R as [|s s' R IH St]; [simpl; apply capacity; auto|].
  destruct St as [i k _ [Kk F]|]; simpl; [|auto]. assert (k = O) as -> by lia. apply F; auto. Qed.
(* {lem-tv_drf-whole} Part 2: there is one machine, demands d are positive, and each task of h adds r. *)
Theorem ahead_at_the_end P s i h y d r most : model P -> K P = 1%nat -> ends P s -> (i < n P)%nat -> (h < n P)%nat ->
  (x s i < tasks P i)%nat -> floor P h y -> (forall g z j, need P g z j = d g j) -> (∀ g < n P, ∀ j < m P, 0 < d g j) ->
  (forall z, G P h (S z) = G P h z + r) -> (∀ j < m P, d i j / d h j <= most) ->
  G P h (x s h) <= Rmax (G P i (x s i) + r) (G P h y) + r * most.
Proof. intros M K1 [R E] I Hh U Fl Ne D Gr Mo. assert (r0 : 0 <= r) by (pose proof (G_grows P M h 0); rewrite Gr in H;
  lra). assert (Gz : forall a b, G P h (a + b) = G P h a + INR b * r).
  { intros a b; induction b as [|b IHb]; [rewrite Nat.add_0_r; simpl; lra|].
  rewrite Nat.add_succ_r, Gr, IHb, S_INR; lra. } assert (Inv : (x s i < tasks P i)%nat -> refused s i = true ->
  exists z j l, (z <= x s h)%nat /\ G P h z <= Rmax (G P i (x s i) + r) (G P h y) /\ (j < m P)%nat /\
  c P 0 j < l + d i j /\ l + INR (x s h - z) * d h j <= held s 0 j).
  { clear U E. induction R as [|s s' R IH St]; intros U Rf; [discriminate|].
    destruct St as [g k T [Kk F]|g T No]; simpl in *.
    - assert (g <> i) by (intros ->; destruct T as [[_ [_ T]] _]; congruence).
      destruct (Nat.eqb_spec i g); [congruence|]. assert (k = O) as -> by lia. simpl.
      destruct (IH U Rf) as [z [j [l [Z [B [J [L Le]]]]]]]. exists z, j, l.
      destruct (Nat.eqb_spec h g) as [->|]; rewrite Ne.
      + repeat split; auto. replace (S (x s g) - z)%nat with (S (x s g - z)) by lia. rewrite S_INR. lra.
      + repeat split; auto. pose proof (D g (proj1 (proj1 T)) j J). lra.
    - destruct (Nat.eqb_spec i g) as [->|]; [|apply IH; auto]. destruct (dec_ex (m P) (fun j => c P 0 j < held s 0 j + d
      g j)) as [[j [J L]]|N]; [intros j; destruct (Rlt_dec (c P 0 j) (held s 0 j + d g j)); auto| |].
      + exists (x s h), j, (held s 0 j). rewrite Nat.sub_diag. simpl. repeat split; auto; [|lra].
        apply Rle_trans with (1 := ahead_by_one_task P s g h y M R I U (proj2 (proj2 (proj1 T))) Fl).
        apply Rle_max_compat_r, Rplus_le_compat_l. destruct (x s h) as [|z]; simpl; [lra|rewrite Gr; lra].
      + exfalso; apply (No O); split; [lia|]. intros j J; rewrite Ne.
        apply Rnot_lt_le; intros L; apply N; exists j; auto. }
  destruct (refused s i) eqn:Rf; [|exfalso; apply (E i); split; auto].
  destruct (Inv U eq_refl) as [z [j [l [Z [B [J [L Le]]]]]]]. pose proof (held_fits P s j M K1 J R).
  specialize (Mo j J). pose proof (D h Hh j J). replace (x s h) with (z + (x s h - z))%nat by lia. rewrite Gz.
  apply Rplus_le_compat; [auto|]. rewrite Rmult_comm. apply Rmult_le_compat_l; auto. apply Rle_trans with (2 := Mo).
  apply Rmult_le_reg_r with (d h j); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
(* {whole} thm-tv_drf-1-whole thm-tv_drf-2-whole lem-tv_drf-3 lem-tv_drf-whole *)
