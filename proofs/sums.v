(* Finite sums and least elements over the reals; the standard library only. *)
From Coq Require Export Rbase Rbasic_fun Rfunctions Lra Lia Arith.
Local Open Scope R_scope.

(* Suppose the contrary of an inequality. *)
Tactic Notation "suppose" ident(G) := first [apply Rnot_lt_le; intros G|apply Rnot_le_lt; intros G].
(* One case for each way in which maxima and minima may turn out *)
Ltac innermost := match goal with H : context [Rle_dec ?x ?y] |- _ => lazymatch constr:((x, y)) with context [Rle_dec]
  => fail | _ => idtac end; destruct (Rle_dec x y) | |- context [Rle_dec ?x ?y] => lazymatch constr:((x, y))
  with context [Rle_dec] => fail | _ => idtac end; destruct (Rle_dec x y) end.
Ltac minmax := unfold Rmax, Rmin in *; repeat destruct (Rle_dec _ _); try lra; nra.

Notation "'∀' i '<' k , P" := (forall i, (i < k)%nat -> P) (at level 200, i name, k at level 69, P at level 200).
Notation "'∃' i '<' k , P" := (exists i, (i < k)%nat /\ P) (at level 200, i name, k at level 69, P at level 200).
Fixpoint sum (n : nat) (f : nat -> R) : R := match n with O => 0 | S k => sum k f + f k end.
Notation "'Σ' i '<' n , F" := (sum n (fun i => F)) (at level 41, i name, n at level 30, F at level 41).
Lemma sum_le n f g : (∀ i < n, f i <= g i) -> sum n f <= sum n g.
Proof. induction n; simpl; intros H; [lra|]. assert (f n <= g n) by auto with arith.
  assert (sum n f <= sum n g) by auto with arith. lra. Qed.
Lemma sum_lt n f g i : (∀ i < n, f i <= g i) -> (i < n)%nat -> f i < g i -> sum n f < sum n g.
Proof. induction n; simpl; intros H I L; [lia|]. assert (sum n f <= sum n g) by (apply sum_le; auto with arith).
  assert (f n <= g n) by auto with arith. destruct (Nat.eq_dec i n) as [->|N]; [lra|].
  assert (sum n f < sum n g) by (apply IHn; auto with arith; lia). lra. Qed.
Lemma sum_mul n f c : Σ i < n, f i * c = sum n f * c.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma some_or_none n (f g : nat -> R) : (∃ h < n, f h < g h) \/ ∀ h < n, g h <= f h.
Proof. induction n; [right; lia|]. destruct IHn as [[h [I L]]|N]; [left; exists h; split; [lia|lra]|].
  destruct (Rlt_le_dec (f n) (g n)); [left; exists n; split; [lia|lra]|]. right; intros h I.
  destruct (Nat.eq_dec h n) as [->|]; [lra|apply N; lia]. Qed.
Lemma exchange n f g i : sum n f <= sum n g -> (i < n)%nat -> g i < f i -> ∃ h < n, h <> i /\ f h < g h.
Proof. intros L I G. destruct (some_or_none n f g) as [[h [J K]]|N].
  - exists h; repeat split; auto. intros ->; lra.
  - pose proof (sum_lt n g f i N I G); lra. Qed.
Lemma least_or_none n (p : nat -> Prop) (f : nat -> R) : (forall i, p i \/ ~ p i) ->
  (∃ h < n, p h /\ ∀ g < n, p g -> f h <= f g) \/ ∀ i < n, ~ p i.
Proof. intros D; induction n as [|n [[h [H [Ph M]]]|N]]; [right; lia|left|]; destruct (D n) as [Pn|Nn];
  [destruct (Rle_lt_dec (f h) (f n))|..].
  - exists h; repeat split; auto with arith. intros g G Pg; destruct (Nat.eq_dec g n) as [->|]; [lra|apply M;
    [lia|auto]].
  - exists n; repeat split; auto with arith. intros g G Pg; destruct (Nat.eq_dec g n) as [->|]; [lra|].
    specialize (M g ltac:(lia) Pg); lra.
  - exists h; repeat split; auto with arith. intros g G Pg; destruct (Nat.eq_dec g n) as [->|]; [tauto|apply M;
    [lia|auto]].
  - left; exists n; repeat split; auto with arith. intros g G Pg; destruct (Nat.eq_dec g n) as [->|]; [lra|exfalso;
    apply (N g); [lia|auto]].
  - right; intros i I; destruct (Nat.eq_dec i n) as [->|]; [auto|apply N; lia]. Qed.
Lemma least n (p : nat -> Prop) (f : nat -> R) : (forall i, p i \/ ~ p i) -> (∃ i < n, p i) ->
  ∃ h < n, p h /\ ∀ g < n, p g -> f h <= f g.
Proof. intros D [i [I Pi]]. destruct (least_or_none n p f D) as [|N]; [auto|exfalso; apply (N i I Pi)]. Qed.
Lemma factor c x y : 0 <= c -> c * x < c * y -> 0 < c /\ x < y.
Proof. intros C L. destruct (Req_dec c 0) as [->|]; [lra|]. split; [lra|nra]. Qed.
Lemma sum_ext n f g : (∀ i < n, f i = g i) -> sum n f = sum n g.
Proof. intros H; apply Rle_antisym; apply sum_le; intros i I; rewrite (H i I); lra. Qed.
Lemma sum_plus n f g : Σ i < n, (f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sum_zero n f : (∀ i < n, f i = 0) -> sum n f = 0.
Proof. induction n; simpl; intros H; [lra|]. rewrite IHn, H by auto with arith; lra. Qed.
Lemma sum_ge0 n f : (∀ i < n, 0 <= f i) -> 0 <= sum n f.
Proof. intros H; apply Rle_trans with (sum n (fun _ => 0)); [rewrite sum_zero by auto; lra|apply sum_le; auto]. Qed.
Lemma sum_gt0 n f i : (∀ i < n, 0 <= f i) -> (i < n)%nat -> 0 < f i -> 0 < sum n f.
Proof. intros H I G; apply Rle_lt_trans with (sum n (fun _ => 0)); [rewrite sum_zero by auto; lra|apply sum_lt with i;
  auto]. Qed.
Lemma sum_gt0_inv n f : 0 < sum n f -> ∃ i < n, 0 < f i.
Proof. intros G; destruct (some_or_none n (fun _ => 0) f) as [[i [I L]]|N]; [exists i; auto|].
  pose proof (sum_le n f (fun _ => 0) N) as L. rewrite (sum_zero n (fun _ => 0)) in L by auto; lra. Qed.
Lemma sum_term n f i : (∀ h < n, 0 <= f h) -> (i < n)%nat -> f i <= sum n f.
Proof. induction n as [|n IH]; simpl; intros H I; [lia|]. assert (0 <= sum n f) by (apply sum_ge0; auto).
  destruct (Nat.eq_dec i n) as [->|N]; [lra|]. specialize (H n ltac:(lia)) as Hn.
  assert (f i <= sum n f) by (apply IH; auto; lia). lra. Qed.
Definition dec (p : nat -> Prop) := forall i, {p i} + {~ p i}.
Lemma dec_ex k p : dec p -> {∃ j < k, p j} + {~ ∃ j < k, p j}.
Proof. intros D; induction k as [|k IH]; [right; intros [j []]; lia|].
  destruct IH as [Y|N]; [left; destruct Y as [j []]; exists j; split; [lia|auto]|].
  destruct (D k); [left; exists k; auto|right; intros [j [J Pj]]].
  destruct (Nat.eq_dec j k) as [->|]; [auto|apply N; exists j; split; [lia|auto]]. Qed.
Lemma small_step k (ok : nat -> R -> Prop) : (∀ i < k, exists s, 0 < s /\ ok i s) ->
  (forall i s t, ok i s -> 0 < t <= s -> ok i t) -> exists s, 0 < s /\ ∀ i < k, ok i s.
Proof. intros H D; induction k as [|k IH]; [exists 1; split; [lra|intros; lia]|].
  destruct IH as [s [S O]]; [auto with arith|]. destruct (H k) as [t [T Ok]]; auto.
  exists (Rmin s t); split; [apply Rmin_glb_lt; auto|]. intros i I. pose proof (Rmin_l s t); pose proof (Rmin_r s t).
  pose proof (Rmin_glb_lt s t 0 S T). destruct (Nat.eq_dec i k) as [->|N]; [apply D with t; auto; lra|apply D with s;
  [apply O; lia|lra]]. Qed.
Lemma small_part k (A b : nat -> R) : (∀ j < k, 0 <= A j /\ 0 < b j) -> exists e, 0 < e /\ ∀ j < k, e * A j <= b j.
Proof. intros H. destruct (small_step k (fun j e => 0 <= A j /\ e * A j <= b j)) as [e [E O]];
  [|intros j u v [A0 U] V; split; [auto|nra]|exists e; split; [auto|apply O]]. intros j J; destruct (H j J) as [A0 B].
  assert (P : 0 < b j / (A j + 1)) by (apply Rdiv_lt_0_compat; lra). exists (b j / (A j + 1)).
  split; [auto|split; [auto|]]. assert (b j / (A j + 1) * (A j + 1) = b j) by (field; lra). lra. Qed.
(* a small step in a direction a, which uses no more of what is used up *)
Lemma small_room k (used a c : nat -> R) : (∀ j < k, 0 <= a j /\ used j <= c j /\ (used j = c j -> a j <= 0)) ->
  exists e, 0 < e /\ ∀ j < k, used j + e * a j <= c j.
Proof. intros H. destruct (small_part k a (fun j => if Req_EM_T (used j) (c j) then 1 else c j - used j)) as [e [E Ok]];
  [|exists e; split; [auto|]]; intros j J; destruct (H j J) as [A [U Z]]; [|specialize (Ok j J)];
  destruct (Req_EM_T (used j) (c j)) as [Eq|]; try lra. specialize (Z Eq). nra. Qed.
Lemma choose {A} k (p : nat -> A -> Prop) (x : A) : (∀ i < k, exists y, p i y) -> exists f, ∀ i < k, p i (f i).
Proof. induction k as [|k IH]; intros H; [exists (fun _ => x); intros; lia|].
  destruct IH as [f F]; [intros; apply H; lia|]. destruct (H k (Nat.lt_succ_diag_r k)) as [y Y].
  exists (fun i => if Nat.eqb i k then y else f i). intros i I; destruct (Nat.eqb_spec i k) as [->|]; [auto|apply F;
  lia]. Qed.
Lemma sum_gap n f g i e : (∀ h < n, f h <= g h) -> (i < n)%nat -> f i <= g i - e -> sum n f <= sum n g - e.
Proof. induction n as [|n IH]; simpl; intros H I G; [lia|]. assert (f n <= g n) by auto with arith.
  destruct (Nat.eq_dec i n) as [->|N]; [assert (sum n f <= sum n g) by (apply sum_le; auto with arith); lra|].
  assert (sum n f <= sum n g - e) by (apply IH; auto with arith; lia). lra. Qed.
Lemma sum_only n i f : (i < n)%nat -> (Σ h < n, if Nat.eqb h i then f h else 0) = f i.
Proof. induction n as [|n IH]; intros I; [lia|]. simpl. destruct (Nat.eqb_spec n i) as [->|N]; [|rewrite IH by lia;
  lra]. rewrite sum_zero; [lra|]. intros h H; destruct (Nat.eqb_spec h i); [lia|auto]. Qed.
Lemma highest k (f : nat -> R) : exists x, ∀ i < k, f i <= x.
Proof. induction k as [|k [x H]]; [exists 0; lia|]. exists (Rmax x (f k)). intros i I.
  destruct (Nat.eq_dec i k) as [->|]; [apply Rmax_r|apply Rle_trans with x; [apply H; lia|apply Rmax_l]]. Qed.
Lemma sum_const k x : (Σ i < k, x) = INR k * x.
Proof. induction k as [|k IH]; [simpl; lra|]. rewrite S_INR; simpl; rewrite IH; lra. Qed.
Lemma sum_add a b f : sum (a + b) f = sum a f + Σ k < b, f (a + k)%nat.
Proof. induction b as [|b IH]; [rewrite Nat.add_0_r; simpl; lra|]. rewrite Nat.add_succ_r; simpl; rewrite IH; lra. Qed.
