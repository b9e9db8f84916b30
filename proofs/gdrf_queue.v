(* GDRF: whose turn it is. *)
From proofs Require Import sums.
From proofs Require gdrf.
Local Open Scope R_scope.
(* {model} *)
(* What a VM of user i adds to its resource so far, how many VMs it asks for (None:
   no bound), its place in the ranking *)
Record queue := Queue { n : nat; a : nat -> R; wanted : nat -> option nat; rank : nat -> nat }.
Definition model P := (forall i, 0 < a P i) /\ forall i h, rank P i = rank P h -> i = h.

(* the slots and VMs of each user so far, who is out, and how many slots all have had *)
Record state := State { slots : nat -> nat; vms : nat -> nat; out : nat -> bool; given : nat }.
Definition begin := State (fun _ => O) (fun _ => O) (fun _ => false) O.
Definition served P s i := match wanted P i with Some b => (b <= slots s i)%nat | None => False end.
Definition active P s i := (i < n P)%nat /\ out s i = false /\ ~ served P s i.
Definition con P s i := INR (slots s i) * a P i.
Definition turn P s i := active P s i /\ forall h, active P s h -> con P s i < con P s h \/ (con P s i = con P s h /\
  (rank P i <= rank P h)%nat).
Definition one_more (f : nat -> nat) i h := if Nat.eqb h i then S (f h) else f h.
(* One thing after another, in any order: in rounds, or one slot at a time; on whatever machine a VM is placed. *)
Inductive step P s : state -> Prop :=
  | slot i : turn P s i -> step P s (State (one_more (slots s) i) (vms s) (out s) (S (given s)))
  | place i : out s i = false -> (vms s i < slots s i)%nat -> step P s (State (slots s) (one_more (vms s) i) (out s)
    (given s))
  | leave i : step P s (State (slots s) (vms s) (fun h => if Nat.eqb h i then true else out s h) (given s))
  | rest : step P s s.
Definition run P (s : nat -> state) := s 0%nat = begin /\ forall t, step P (s t) (s (S t)).
(* at the end of a round all slots of who is in are filled *)
Definition round_ends s := forall i, out s i = false -> vms s i = slots s i.
(* Everybody is active until k slots have been given. While all are, a round has n slots. *)
Definition all_active P (s : nat -> state) k := forall t, (given (s t) < k)%nat -> ∀ i < n P, active P (s t) i.
(* {end} *)
Ltac look St := destruct St as [g Tg|g Og Lg|g|]; simpl in *; unfold one_more in *.
Lemma grows P s t u : run P s -> (t <= u)%nat -> (given (s t) <= given (s u))%nat /\ forall i, (slots (s t) i <= slots
  (s u) i)%nat /\ (vms (s t) i <= vms (s u) i)%nat /\ (out (s u) i = false -> out (s t) i = false).
Proof. intros [_ R]; induction 1 as [|u L [G H]]; [split; auto|]. assert (H' := fun i => proj1 (H i)).
  pose proof (fun i => proj2 (H i)) as H2. clear H. pose proof (R u) as St.
  look St; (split; [lia|]); intros i; destruct (H2 i) as [V O]; specialize (H' i); try (destruct (Nat.eqb i g));
  repeat split; try lia; auto; discriminate. Qed.
Lemma counted P s t : run P s -> (Σ i < n P, INR (slots (s t) i)) = INR (given (s t)) /\ forall i, (vms (s t) i <= slots
  (s t) i)%nat.
Proof. intros [R0 R]; induction t as [|t [C V]]; [rewrite R0; simpl; split; [apply sum_zero; auto|auto]|].
  pose proof (R t) as St. look St; (split; [try exact C|intros i; specialize (V i);
  try (destruct (Nat.eqb_spec i g) as [->|]); lia]). change (match given (s t) with O => 1 | S _ => INR (given (s t))
  + 1 end) with (INR (S (given (s t)))). rewrite S_INR, <- C. rewrite <- (sum_only (n P) g (fun _ => 1)) by apply Tg.
  rewrite <- sum_plus. apply sum_ext; intros i _. destruct (Nat.eqb i g); [rewrite S_INR|]; lra. Qed.
Lemma its_turn P s t h : run P s -> slots (s (S t)) h = S (slots (s t) h) -> turn P (s t) h.
Proof. intros [_ R] E. pose proof (R t) as St. look St; try lia. destruct (Nat.eqb_spec h g) as [->|]; [auto|lia]. Qed.
(* when h got its slot number c + 1 *)
Lemma when P s t h c : run P s -> (c < slots (s t) h)%nat ->
  ∃ u < t, slots (s u) h = c /\ slots (s (S u)) h = S c /\ turn P (s u) h /\ (given (s u) < given (s t))%nat.
Proof. intros R; induction t as [|t IH]; intros L; [destruct R as [E _]; rewrite E in L; simpl in L; lia|].
  destruct (grows P s t (S t) R ltac:(lia)) as [Gr _]. destruct (le_lt_dec (slots (s t) h) c) as [Le|Lt];
  [|destruct (IH Lt) as [u [U [H1 [H2 [H3 H4]]]]]; exists u; repeat split; auto; try lia; apply H3]. exists t.
  assert (E : slots (s t) h = c /\ slots (s (S t)) h = S c /\ (given (s t) < given (s (S t)))%nat).
  { destruct R as [_ R]. pose proof (R t) as St. look St; try lia. destruct (Nat.eqb h g); lia. }
  destruct E as [E1 [E2 E3]]. split; [auto|split; [auto|split; [auto|split; [apply its_turn; [auto|lia]|auto]]]]. Qed.
Lemma behind P s t c : run P s -> (given (s t) < n P * c)%nat -> ∃ h < n P, (slots (s t) h < c)%nat.
Proof. intros R G. destruct (some_or_none (n P) (fun h => INR (slots (s t) h)) (fun _ => INR c)) as [[h [H L]]|N];
  [exists h; split; [auto|apply INR_lt; auto]|exfalso]. apply sum_le in N.
  rewrite (proj1 (counted P s t R)), sum_const, <- mult_INR in N. apply INR_le in N. lia. Qed.
Lemma all_at P s t c : run P s -> given (s t) = (n P * c)%nat -> (forall h i, (h < n P)%nat -> (i < n P)%nat ->
  (c < slots (s t) h -> c <= slots (s t) i)%nat) -> ∀ i < n P, slots (s t) i = c.
Proof. intros R G H. pose proof (proj1 (counted P s t R)) as C. rewrite G, mult_INR, <- sum_const in C.
  assert (Le : ∀ i < n P, (slots (s t) i <= c)%nat).
  { intros i I. destruct (le_lt_dec (slots (s t) i) c) as [|L]; [auto|exfalso].
    assert (sum (n P) (fun _ => INR c) < Σ h < n P, INR (slots (s t) h)); [|lra].
    apply sum_lt with i; auto; [intros; apply le_INR, (H i); auto|apply lt_INR; auto]. }
  intros i I. destruct (le_lt_dec c (slots (s t) i)) as [|L]; [specialize (Le i I); lia|exfalso].
  assert ((Σ h < n P, INR (slots (s t) h)) < sum (n P) (fun _ => INR c)); [|lra].
  apply sum_lt with i; auto; [intros; apply le_INR; auto|apply lt_INR; auto]. Qed.
Lemma least_con P s i h : turn P s i -> active P s h -> con P s i <= con P s h.
Proof. intros [_ T] A. destruct (T h A) as [|[]]; lra. Qed.
Lemma con_mono P s t u i : model P -> run P s -> (t <= u)%nat -> con P (s t) i <= con P (s u) i.
Proof. intros [A _] R L. unfold con. apply Rmult_le_compat_r; [apply Rlt_le; auto|].
  apply le_INR, (grows P s t u R L). Qed.
(* {thm-gdrf-queue} User h got its latest slot with step t. *)
Theorem equal_up_to_one_vm P s t u h i : model P -> run P s -> slots (s (S t)) h = S (slots (s t) h) ->
  active P (s t) i -> (t < u)%nat -> slots (s u) h = slots (s (S t)) h -> (INR (slots (s u) h) - 1) * a P h <= INR
  (slots (s u) i) * a P i.
Proof. intros M R E A L Eu. rewrite Eu, E, S_INR. apply Rle_trans with (con P (s t) h); [unfold con; lra|].
  apply Rle_trans with (con P (s t) i); [apply least_con; [apply its_turn|]; auto|].
  apply (con_mono P s t u i M R); lia. Qed.
(* {thm-gdrf-queue} While all users are in, the number of slots given determines how many slots each has, whenever VMs
   are placed. *)
Theorem rounds_do_not_matter P s s' t t' i : model P -> run P s -> run P s' ->
  (forall h, out (s t) h = false /\ out (s' t') h = false) -> given (s t) = given (s' t') ->
  slots (s t) i = slots (s' t') i.
Proof. intros [_ Rk] [R0 R] [R0' R']. intros In Eg. revert i. assert (before : forall (r : nat ->
  state) v, (forall w, step P (r w) (r (S w))) -> (forall h, out (r (S v)) h = false) -> forall h, out (r v) h = false).
  { intros r v Rr F h. specialize (F h). pose proof (Rr v) as St. revert F. look St; auto.
  destruct (Nat.eqb h g); [discriminate|auto]. } assert (none : forall (r : nat -> state) v, r O = begin ->
  (forall w, step P (r w) (r (S w))) -> given (r v) = O -> forall h, slots (r v) h = O).
  { intros r v B Rr; induction v as [|v IHv]; intros G h; [rewrite B; auto|]. pose proof (Rr v) as St.
    revert G; look St; intros G; try discriminate; auto. }
  assert (Go : forall k t t', (t + t' <= k)%nat -> (forall h, out (s t) h = false) ->
  (forall h, out (s' t') h = false) -> given (s t) = given (s' t') -> forall i, slots (s t) i = slots (s' t') i).
  { clear t t' In Eg. induction k as [|k IH]; intros t t' K F F' Eg i.
    { assert (t = O /\ t' = O) as [-> ->] by lia. rewrite R0, R0'; auto. }
    destruct t as [|t]; [rewrite R0 in *; simpl in *; symmetry; apply none; auto|].
    destruct t' as [|t']; [rewrite R0' in *; simpl in *; apply none; auto|].
    pose proof (IH t (S t') ltac:(lia) (before s t R F) F') as I1.
    pose proof (IH (S t) t' ltac:(lia) F (before s' t' R' F')) as I2.
    pose proof (IH t t' ltac:(lia) (before s t R F) (before s' t' R' F')) as I3. clear IH.
    pose proof (before s t R F) as Q. pose proof (before s' t' R' F') as Q'. pose proof (R t) as St.
    pose proof (R' t') as St'. destruct St as [g [Ag Tg]|g Og Lg|g|]; try (apply I1; exact Eg).
    destruct St' as [g' [Ag' Tg']|g' Og' Lg'|g'|]; try (apply I2; exact Eg). simpl in *. injection Eg as Eg.
    specialize (I3 Eg). assert (same : forall h, (active P (s t) h <-> active P (s' t') h) /\
    con P (s t) h = con P (s' t') h). { intros h; unfold active, served, con. rewrite <- I3, Q, Q'. tauto. }
    assert (g = g') as ->; [|unfold one_more; rewrite I3; auto]. destruct (same g) as [S1 C1], (same g') as [S2 C2].
    apply Rk. destruct (Tg g' (proj2 S2 Ag')) as [L|[E L]], (Tg' g (proj1 S1 Ag)) as [L'|[E' L']]; [lra..|lia]. }
  apply (Go (t + t')%nat); auto; apply In. Qed.
(* {thm-gdrf-first-round} *)
Theorem one_slot_each P s u i : model P -> run P s -> (forall h, wanted P h <> Some 0%nat) ->
  (forall t h, (given (s t) < n P)%nat -> out (s t) h = false) -> given (s u) = n P -> (i < n P)%nat ->
  slots (s u) i = 1%nat.
Proof. intros [A _] R W In Eg. apply (all_at P s u 1 R); [lia|]. intros h x H X L. exfalso.
  destruct (when P s u h 1 R L) as [t [T [E [_ [Tn G]]]]]. destruct (behind P s t 1 R ltac:(lia)) as [g [Hg Lg]].
  assert (Ag : active P (s t) g). { split; [auto|split; [apply In; lia|]]. unfold served. specialize (W g).
  destruct (wanted P g) as [[|b]|]; try tauto. lia. } pose proof (least_con P (s t) h g Tn Ag) as Le. unfold con in Le.
  rewrite E in Le. replace (slots (s t) g) with 0%nat in Le by lia. specialize (A h). simpl in Le; lra. Qed.
(* {prop-gdrf-rounds} Round r ends when n r slots have been given. *)
Theorem similar_users P s u t r eps i : model P -> run P s -> (forall i h, (i < n P)%nat -> (h < n P)%nat ->
  a P i <= (1 + eps) * a P h) -> 0 < eps -> INR t < 1 + 1 / eps -> all_active P s (n P * t) -> (r <= t)%nat ->
  given (s u) = (n P * r)%nat -> (i < n P)%nat -> slots (s u) i = r.
Proof. intros [A _] R Sim E0 Lt Act Rt Eg. assert (even : forall v, (given (s v) <= n P * t)%nat ->
  forall h x, (h < n P)%nat -> (x < n P)%nat -> (slots (s v) h <= S (slots (s v) x))%nat).
  { induction v as [|v IH]; intros G h x H X; [rewrite (proj1 R); simpl; lia|].
    destruct (grows P s v (S v) R ltac:(lia)) as [Gv Gs]. specialize (IH ltac:(lia)). pose proof (IH h x H X) as IHx.
    destruct (Gs x) as [Gx _]. destruct (le_lt_dec (slots (s (S v)) h) (S (slots (s (S v)) x))) as [|L]; [auto|exfalso].
    assert (D : slots (s (S v)) h = S (slots (s v) h) /\ (given (s v) < n P * t)%nat).
    { destruct R as [_ R]. pose proof (R v) as St. revert G L IHx Gx. look St; try lia. destruct (Nat.eqb h g); lia. }
    destruct D as [D Gt]. pose proof (least_con P (s v) h x (its_turn P s v h R D) (Act v Gt x X)) as Le.
    unfold con in Le. assert (Eh : slots (s v) h = S (slots (s v) x)) by lia. rewrite Eh, S_INR in Le.
    destruct (behind P s v t R Gt) as [g [Hg Lg]]. pose proof (IH h g H Hg).
    assert (Sx : (S (slots (s v) x) <= t)%nat) by lia. apply le_INR in Sx. rewrite S_INR in Sx.
    specialize (Sim x h X H). pose proof (A h). pose proof (pos_INR (slots (s v) x)).
    assert (INR (slots (s v) x) * eps < 1).
    { apply Rlt_le_trans with (1 / eps * eps); [apply Rmult_lt_compat_r; lra|apply Req_le; field; lra]. }
    nra. }
  apply (all_at P s u r R Eg). intros h x H X L. specialize (even u ltac:(rewrite Eg; apply Nat.mul_le_mono_l;
  auto) h x H X). lia. Qed.
(* {prop-gdrf-rounds} The bound is sharp: two users do not get one slot each in all rounds up to S t. *)
Theorem one_gets_two P s t u eps : run P s -> n P = 2%nat -> a P 0%nat = 1 -> a P 1%nat = 1 + eps -> 0 < eps ->
  1 + 1 / eps < INR (S t) -> all_active P s (2 * S t) -> given (s u) = (2 * S t)%nat ->
  ~ forall v r i, (r <= S t)%nat -> given (s v) = (2 * r)%nat -> (i < 2)%nat -> slots (s v) i = r.
Proof. intros R En A0 A1 E0 Big Act Eg All. assert (Be := fun v i => All v t i ltac:(lia)). rewrite S_INR in Big.
  assert (B : 1 < INR t * eps).
  { apply Rle_lt_trans with (1 / eps * eps); [apply Req_le; field; lra|apply Rmult_lt_compat_r; lra]. }
  assert (H : forall v, (2 * t <= given (s v) <= 2 * S t)%nat -> (slots (s v) 0%nat + t = given (s v))%nat /\
  slots (s v) 1%nat = t).
  { induction v as [|v IH]; intros G.
    - assert (G0 : given (s 0%nat) = (2 * t)%nat) by (rewrite (proj1 R) in *; simpl in *; lia).
      rewrite (Be _ 0%nat G0), (Be _ 1%nat G0), G0 by lia. lia.
    - destruct (Nat.eq_dec (given (s (S v))) (2 * t)) as [G0|N]; [rewrite (Be _ 0%nat G0), (Be _ 1%nat G0), G0 by lia;
      lia|]. destruct (grows P s v (S v) R ltac:(lia)) as [Gv _].
      assert (Gb : (2 * t <= given (s v))%nat) by (destruct R as [_ R]; pose proof (R v) as St; revert G N; look St;
      lia). specialize (IH ltac:(lia)). destruct R as [_ R]. pose proof (R v) as St. revert G N.
      look St; intros G N; auto. destruct IH as [I0 I1]. assert (g = 0%nat) as ->; [|simpl; lia].
      pose proof (proj1 (proj1 Tg)) as Gn. rewrite En in Gn. destruct g as [|[|g]]; [auto|exfalso|lia].
      pose proof (least_con P (s v) 1 0 Tg (Act v ltac:(lia) 0%nat ltac:(lia))) as Le. unfold con in Le.
      rewrite A0, A1, I1 in Le. assert (Sl : (slots (s v) 0%nat <= S t)%nat) by lia. apply le_INR in Sl.
      rewrite S_INR in Sl. nra. }
  destruct (H u ltac:(lia)) as [_ S1]. rewrite (All u (S t) 1%nat) in S1 by (auto; lia). lia. Qed.
(* {prop-gdrf-shares} Counted by amounts: d are the VMs, S the cell, lo its least entry, and top the largest shares.
   *)
Theorem dominant_shares P s t u h i m (S : nat -> R) d lo top : model P -> run P s ->
  slots (s (Datatypes.S t)) h = Datatypes.S (slots (s t) h) -> active P (s t) i -> (t < u)%nat ->
  slots (s u) h = slots (s (Datatypes.S t)) h -> (forall i, a P i = gdrf.amount m (d i)) -> (forall i r, 0 <= d i r) ->
  0 < lo -> (∀ r < m, lo <= S r) -> (forall i, gdrf.largest m (fun r => d i r / S r) (top i)) ->
  (INR (slots (s u) h) - 1) * top h <= gdrf.amount m S / lo * (INR (slots (s u) i) * top i).
Proof. intros M R E A L Eu Am D Lo Ls Top. pose proof (equal_up_to_one_vm P s t u h i M R E A L Eu) as Q.
  rewrite !Am in Q. assert (above : top h * lo <= gdrf.amount m (d h)). { destruct (Top h) as [[r [Hr Er]] _].
  rewrite <- Er. specialize (Ls r Hr). apply Rle_trans with (d h r); [|apply (sum_term m (d h)); auto].
  specialize (D h r). replace (d h r) with (d h r / S r * S r) at 2 by (field; lra). apply Rmult_le_compat_l; [|auto].
  apply Rmult_le_pos; [auto|apply Rlt_le, Rinv_0_lt_compat; lra]. }
  assert (under : gdrf.amount m (d i) <= gdrf.amount m S * top i). { destruct (Top i) as [_ T]. unfold gdrf.amount.
  rewrite <- sum_mul. apply sum_le; intros r Hr. specialize (T r Hr); specialize (Ls r Hr).
  replace (d i r) with (S r * (d i r / S r)) by (field; lra). apply Rmult_le_compat_l; lra. }
  apply Rmult_le_reg_r with lo; auto. replace (gdrf.amount m S / lo * (INR (slots (s u) i) * top i) * lo)
  with (INR (slots (s u) i) * (gdrf.amount m S * top i)) by (field; lra).
  assert (P1 : 1 <= INR (slots (s u) h)) by (rewrite Eu, E, S_INR; pose proof (pos_INR (slots (s t) h)); lra).
  pose proof (pos_INR (slots (s u) i)). apply Rle_trans with ((INR (slots (s u) h) - 1) * gdrf.amount m (d h));
  [rewrite Rmult_assoc; apply Rmult_le_compat_l; lra|]. apply Rle_trans with (1 := Q). apply Rmult_le_compat_l; auto.
  Qed.
(* {prop-gdrf-shares} The bound is sharp: the VM of one user has the shape of the cell, that of the other the same
   total, all in the scarcest resource q. *)
Theorem shares_differ m (S : nat -> R) q c : (q < m)%nat -> 0 < c -> (∀ r < m, 0 < S r) ->
  let d r := if Nat.eqb r q then c * gdrf.amount m S else 0 in let e r := c * S r in gdrf.amount m d = gdrf.amount m e
  /\ gdrf.largest m (fun r => e r / S r) c /\ gdrf.largest m (fun r => d r / S r) (gdrf.amount m S / S q * c).
Proof. intros Q C Sp d e. assert (A0 : 0 <= gdrf.amount m S) by (apply sum_ge0; intros r Hr; apply Rlt_le; auto).
  split. { unfold gdrf.amount at 1. unfold d. rewrite (sum_only m q (fun _ => c * gdrf.amount m S)) by auto.
  unfold e, gdrf.amount. rewrite <- (Rmult_comm (sum m S)). rewrite <- sum_mul. apply sum_ext; intros; lra. } split.
  - split; [exists q; split; [auto|unfold e; field; apply Rgt_not_eq, Sp; auto]|intros r Hr; unfold e; apply Req_le;
    field; apply Rgt_not_eq, Sp; auto].
  - split; [exists q; split; [auto|unfold d; rewrite Nat.eqb_refl; field; apply Rgt_not_eq, Sp; auto]|].
    intros r Hr; unfold d. specialize (Sp q Q) as Sq. assert (0 <= / S q) by (apply Rlt_le, Rinv_0_lt_compat; auto).
    destruct (Nat.eqb_spec r q) as [->|]; [apply Req_le; field; lra|]. unfold Rdiv; rewrite Rmult_0_l.
    repeat apply Rmult_le_pos; lra. Qed.
(* {thm-gdrf-envy} At t a round ends, and i is in; user h gets no further VM until u. User i could run z VMs on what h
   has, less one VM. *)
Theorem no_envy_beyond_one_vm P s t u h i how m S (d : nat -> nat -> R) z : model P -> run P s -> (∀ r < m, 0 < S r) ->
  (forall i, gdrf.counts how m S (d i) (a P i)) -> round_ends (s t) -> out (s t) i = false -> (i < n P)%nat ->
  (t <= u)%nat -> (0 < vms (s t) h)%nat -> vms (s u) h = vms (s t) h -> (∀ r < m, z * d i r <= (INR (vms (s u) h) - 1) *
  d h r) -> served P (s u) i \/ z <= INR (vms (s u) i).
Proof. intros M R Sp Am Re O I L V Ev F. rewrite Ev in F. destruct (counted P s t R) as [_ Vs].
  destruct (when P s t h (pred (vms (s t) h)) R ltac:(specialize (Vs h); lia)) as [w [W [Ew [_ [Tw _]]]]].
  destruct (grows P s w t R ltac:(lia)) as [_ Gw], (grows P s t u R L) as [_ Gt].
  destruct (Gw i) as [Si [_ Oi]], (Gt i) as [St [Vt _]]. assert (dec : served P (s w) i \/ ~ served P (s w) i) by
  (unfold served; destruct (wanted P i) as [b|]; [destruct (le_lt_dec b (slots (s w) i)); [left|right]; lia|tauto]).
  destruct dec as [Sv|Ns]; [left; unfold served in *; destruct (wanted P i); [lia|auto]|right].
  assert (A : active P (s w) i) by (split; [|split]; auto). pose proof (least_con P (s w) h i Tw A) as Q.
  unfold con in Q. rewrite Ew in Q. assert (E : INR (pred (vms (s t) h)) = INR (vms (s t) h) - 1) by
  (replace (vms (s t) h) with (Datatypes.S (pred (vms (s t) h))) at 2 by lia; rewrite S_INR; lra). rewrite <- E in F.
  pose proof (gdrf.in_terms how m S (d i) (d h) (a P i) (a P h) _ z Sp (Am i) (Am h) (pos_INR _) F) as B.
  rewrite <- (Re i O) in Si. assert (Le : (slots (s w) i <= vms (s u) i)%nat) by lia. apply le_INR in Le.
  pose proof (proj1 M i). nra. Qed.
(* {prop-gdrf-lie} The run under the claim is s'. Q is P, but a VM of i is larger. Both runs are followed to the end of
   round t. *)
Theorem overstating_gains_no_vm P Q s s' u u' t i m (d e : nat -> R) : model P -> model Q -> n Q = n P ->
  (forall h, h <> i -> a Q h = a P h) -> a P i = gdrf.amount m d -> a Q i = gdrf.amount m e -> (∀ r < m, d r <= e r) ->
  (∃ r < m, d r < e r) -> run P s -> run Q s' -> all_active P s (n P * t) -> all_active Q s' (n P * t) ->
  given (s u) = (n P * t)%nat -> given (s' u') = (n P * t)%nat -> (i < n P)%nat -> round_ends (s u) ->
  out (s u) i = false -> (vms (s' u') i <= vms (s u) i)%nat.
Proof. intros [A Rk] [A' _] en ea Ed Ee Le [r [Hr Lr]] R R' Ac Ac' G G' I Re O. rewrite (Re i O).
  apply Nat.le_trans with (slots (s' u') i); [apply (counted Q s' u' R')|]. assert (M : model P) by (split; auto).
  destruct (le_lt_dec (slots (s' u') i) (slots (s u) i)) as [|more]; [auto|exfalso].
  assert (Bigger : a P i < a Q i) by (rewrite Ed, Ee; apply sum_lt with r; auto).
  pose proof (proj1 (counted P s u R)) as C. pose proof (proj1 (counted Q s' u' R')) as C'. rewrite en in C'.
  destruct (exchange (n P) (fun h => INR (slots (s' u') h)) (fun h => INR (slots (s u) h)) i) as [h [H [N L]]]; auto;
  [rewrite C, C', G, G'; lra|apply lt_INR; auto|]. apply INR_lt in L.
  (* its last slot under the claim, and the last one of h under the truth *)
  destruct (when Q s' u' i (pred (slots (s' u') i)) R' ltac:(lia)) as [v' [V' [E' [_ [T' Gv']]]]].
  destruct (when P s u h (pred (slots (s u) h)) R ltac:(lia)) as [v [V [E [_ [T Gv]]]]].
  pose proof (least_con Q (s' v') i h T' (Ac' v' ltac:(lia) h ltac:(lia))) as Q1.
  pose proof (least_con P (s v) h i T (Ac v ltac:(lia) i I)) as Q2.
  destruct (grows Q s' v' u' R' ltac:(lia)) as [_ Gr']. destruct (grows P s v u R ltac:(lia)) as [_ Gr].
  destruct (Gr' h) as [Gh _], (Gr i) as [Gi _]. unfold con in *. rewrite E', (ea h N) in Q1. rewrite E in Q2.
  pose proof (A h); pose proof (A i); pose proof (A' i). assert (X1 : (slots (s' v') h <= pred (slots (s u) h))%nat) by
  lia. assert (X2 : (slots (s v) i <= pred (slots (s' u') i))%nat) by lia. apply le_INR in X1, X2.
  assert (Y : (0 < pred (slots (s' u') i))%nat).
  { destruct (le_lt_dec 1 (slots (s u) i)); [lia|exfalso]. assert (One : ∀ x < n P, (slots (s u) x <= 1)%nat).
    { intros x X. destruct (le_lt_dec (slots (s u) x) 1) as [|big]; [auto|exfalso].
      destruct (when P s u x 1 R big) as [y [Yu [Ey [_ [Ty Gy]]]]].
      pose proof (least_con P (s y) x i Ty (Ac y ltac:(lia) i I)) as Q3.
      destruct (grows P s y u R ltac:(lia)) as [_ G3]. destruct (G3 i) as [G4 _]. unfold con in Q3. rewrite Ey in Q3.
      replace (slots (s y) i) with 0%nat in Q3 by lia. specialize (A x). simpl in Q3; lra. }
    assert (L1 : (Σ x < n P, INR (slots (s u) x)) < Σ x < n P, 1) by (apply sum_lt with i; auto; [intros x X;
    apply (le_INR _ 1), One; auto|apply (lt_INR _ 1); auto]). rewrite C, G, sum_const, mult_INR in L1.
    destruct t as [|t]; [|rewrite S_INR in L1; pose proof (pos_INR t); pose proof (pos_INR (n P)); nra].
    rewrite Nat.mul_0_r in G'. rewrite G' in C'. pose proof (sum_term (n P) (fun x => INR (slots (s' u') x))
    i (fun x _ => pos_INR _) I) as T0. simpl in T0, C'. rewrite C' in T0. apply lt_INR in more.
    pose proof (pos_INR (slots (s u) i)). lra. }
  apply lt_INR in Y. simpl in Y. set (p := INR (pred (slots (s' u') i))) in *.
  set (q := INR (pred (slots (s u) h))) in *. assert (p * a Q i <= q * a P h) by (apply Rle_trans with (1 := Q1);
  apply Rmult_le_compat_r; lra). assert (INR (slots (s v) i) * a P i <= p * a P i) by (apply Rmult_le_compat_r; lra).
  nra. Qed.
(* {whole} thm-gdrf-first-round prop-gdrf-rounds thm-gdrf-queue prop-gdrf-shares thm-gdrf-envy prop-gdrf-lie *)
