(* Virtual clusters in whole VMs: how to share one, and which items can be packed into several. *)
From Coq Require Import List.
From proofs Require Import sums lemmas.
Local Open Scope R_scope.
(* {model} *)
(* A cluster of C whole VMs; user i wants wish i of them and has to have its minimum. *)
Record cluster := Cluster { n : nat; C : nat; wish : nat -> nat; minimum : nat -> nat }.
Definition total P (a : nat -> nat) := Σ i < n P, INR (a i).
Definition fraction P (a : nat -> nat) i := INR (a i) / INR (wish P i).
Definition allowed P a := (∀ i < n P, (minimum P i <= a i <= wish P i)%nat) /\ total P a <= INR (C P).
(* The minima fit, and not all can have all that they want. *)
Definition model P := (forall i, (0 < wish P i)%nat) /\ allowed P (minimum P) /\ INR (C P) < total P (wish P).
Definition wants P (a : nat -> nat) i := (i < n P)%nat /\ (a i < wish P i)%nat.
Definition least P a i := wants P a i /\ forall h, wants P a h -> fraction P a i <= fraction P a h.
Definition smallest P a i := least P a i /\ forall h, least P a h -> (wish P i <= wish P h)%nat.
Definition one_more (a : nat -> nat) i h := if Nat.eqb h i then S (a h) else a h.
(* The VMs beyond the minima are handed out one by one by the rule, until all are. *)
Definition run P (rule : (nat -> nat) -> nat -> Prop) (x : nat -> nat -> nat) T := x O = minimum P /\
  (∀ k < T, exists i, rule (x k) i /\ x (S k) = one_more (x k) i) /\ total P (x T) = INR (C P).
(* {end} *)
Section run.
Variables (P : cluster) (rule : (nat -> nat) -> nat -> Prop) (x : nat -> nat -> nat) (T : nat).
Hypotheses (M : model P) (R : run P rule x T) (Ru : forall a i, rule a i -> least P a i).
Lemma wish_gt0 i : 0 < INR (wish P i). Proof. apply (lt_INR 0), M. Qed.
Lemma fraction_le a b i h : (a i <= b h)%nat -> wish P i = wish P h -> fraction P a i <= fraction P b h.
Proof. intros L E. unfold fraction. rewrite E. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, wish_gt0| apply
  le_INR; auto]. Qed.
Lemma grows a b i : (a <= b <= T)%nat -> (x a i <= x b i)%nat.
Proof. intros [L B]. induction L as [|b L IH]; [auto|]. specialize (IH ltac:(lia)). destruct (proj1 (proj2 R) b B) as [g
  [_ ->]]. unfold one_more. destruct (Nat.eqb i g); lia. Qed.
Lemma within k i : (k <= T)%nat -> (i < n P)%nat -> (minimum P i <= x k i <= wish P i)%nat.
Proof. intros K I. induction k as [|k IH]; [rewrite (proj1 R); apply M; auto|]. specialize (IH ltac:(lia)). destruct
  (proj1 (proj2 R) k K) as [g [Rg ->]]. apply Ru in Rg as [[_ L] _]. unfold one_more. destruct (Nat.eqb_spec i g) as
  [->|]; lia. Qed.
Lemma its_last b i : (b <= T)%nat -> (minimum P i < x b i)%nat -> ∃ k < b, x b i = S (x k i) /\ rule (x k) i.
Proof. induction b as [|b IH]; intros B L; [rewrite (proj1 R) in L; lia|]. destruct (proj1 (proj2 R) b B) as [g [Rg E]].
  rewrite E in *. unfold one_more in *. destruct (Nat.eqb_spec i g) as [->|]; [exists b; auto|]. destruct (IH ltac:(lia)
  L) as [k [K Q]]. exists k. split; [lia|auto]. Qed.
(* The fraction of i before its last VM was the least of all that wanted more; b is what i had then. *)
Lemma key i h : (i < n P)%nat -> (h < n P)%nat -> (minimum P i < x T i)%nat -> (x T h < wish P h)%nat -> exists b k,
  x T i = S b /\ INR b / INR (wish P i) <= fraction P (x T) h /\ rule (x k) i /\
  (fraction P (x T) h = INR b / INR (wish P i) -> least P (x k) h).
Proof. intros I H L W. destruct (its_last T i (le_n T) L) as [k [K [E Rk]]]. exists (x k i), k. pose proof (grows k T h
  ltac:(lia)). assert (Wh : wants P (x k) h) by (split; [auto|lia]). pose proof (Ru _ _ Rk) as Lk. destruct Lk as [_
  Lk]. pose proof (fraction_le (x k) (x T) h h ltac:(auto) eq_refl) as F. pose proof (Lk h Wh) as F'. split;
  [auto|split; [unfold fraction in *; lra|split; [auto|]]]. intros Eq. split; [auto|]. intros g G. specialize (Lk g G).
  unfold fraction in *. lra. Qed.
End run.
(* {lem-virtual_cluster-share} Part 2: the least fraction is the largest possible. *)
Theorem largest_least_in_whole P x T b Y : model P -> run P (least P) x T -> allowed P b -> (∀ i < n P,
  Y <= fraction P b i) -> ∀ i < n P, Y <= fraction P (x T) i.
Proof. intros M R [B Tb] Le h H. suppose Lt. specialize (Le h H) as Lh. assert (Bh : (x T h < b h)%nat). { destruct
  (le_lt_dec (b h) (x T h)) as [L|]; [exfalso|auto]. pose proof (fraction_le P M b (x T) h h L eq_refl). lra. } destruct
  (exchange (n P) (fun i => INR (b i)) (fun i => INR (x T i)) h) as [i [I [_ L]]]; auto. { rewrite (proj2 (proj2 R) :
  sum (n P) (fun i => INR (x T i)) = _). exact Tb. } { apply lt_INR; auto. } apply INR_lt in L. pose proof (B i I). pose
  proof (B h H). destruct (key P (least P) x T M R (fun _ _ L => L) i h I H ltac:(lia) ltac:(lia)) as [c [k [E [F _]]]].
  specialize (Le i I). assert (fraction P b i <= INR c / INR (wish P i)); [|lra]. apply Rmult_le_compat_r; [apply
  Rlt_le, Rinv_0_lt_compat, wish_gt0; auto|apply le_INR; lia]. Qed.
(* {lem-virtual_cluster-share} In both parts all is handed out, and no allocation hands out more; nor if all users get
   everything. *)
Theorem all_is_handed_out P x T b : run P (least P) x T -> (forall i, (b i <= wish P i)%nat) -> (allowed P b ->
  total P b <= total P (x T)) /\ total P b <= total P (wish P).
Proof. intros R W. split; [intros [_ B]; rewrite (proj2 (proj2 R)); auto|]. apply sum_le; intros i _. apply le_INR;
  auto. Qed.
(* ------------------------------------------------------------------------------------------- the smallest wish first *)
Lemma same_counts s t : inc s -> inc t -> length s = length t -> (forall z, below z s = below z t) -> s = t.
Proof. revert t. induction s as [|x s IH]; intros [|u t] Is It L E; simpl in L; try lia; auto. destruct (inc_cons _ _
  Is) as [Is' Ls], (inc_cons _ _ It) as [It' Lt]. assert (x = u) as ->. { pose proof (E x) as Ex. pose proof (E u) as
  Eu. simpl in Ex, Eu. destruct (Rle_dec x x), (Rle_dec u u); try lra. destruct (Rtotal_order x u) as [G|[|G]];
  [exfalso|auto|exfalso].
    - destruct (Rle_dec u x); [lra|]. rewrite (below_none x t) in Ex; [lia|]. intros z Z; specialize (Lt z Z); lra.
    - destruct (Rle_dec x u); [lra|]. rewrite (below_none u s) in Eu; [lia|]. intros z Z; specialize (Ls z Z); lra. }
      f_equal. apply IH; auto. intros z. specialize (E z). simpl in E. lia. Qed.
Lemma count z k y : INR (below z (map y (seq 0 k))) = Σ i < k, if Rle_dec (y i) z then 1 else 0.
Proof. induction k as [|k IH]; [reflexivity|]. rewrite seq_S, map_app. assert (A : forall s t, below z (s ++ t) = (below
  z s + below z t)%nat) by (induction s as [|v s I]; intros; simpl; [auto|rewrite I; lia]). rewrite A, plus_INR, IH.
  simpl. destruct (Rle_dec (y k) z); simpl; lra. Qed.
Definition swap i h g := if Nat.eqb g i then h else if Nat.eqb g h then i else g.
Lemma swapped k y i h : (i < k)%nat -> (h < k)%nat -> i <> h -> sort k (fun g => y (swap i h g)) = sort k y.
Proof. intros I H N. destruct (sort_facts k y) as [I1 [L1 B1]], (sort_facts k (fun g => y (swap i h g))) as [I2 [L2
  B2]]. apply same_counts; auto; [lia|]. intros z. rewrite B1, B2. apply INR_eq. rewrite !count. set (f := fun g => if
  Rle_dec (y g) z then 1 else 0). transitivity (sum k f + ((Σ g < k, if Nat.eqb g i then f h - f i else 0) + Σ g < k, if
  Nat.eqb g h then f i - f h else 0)).
  - rewrite <- !sum_plus. apply sum_ext; intros g _. unfold swap. fold (f (if Nat.eqb g i then h else if Nat.eqb g h
    then i else g)). destruct (Nat.eqb_spec g i), (Nat.eqb_spec g h); subst; try lra; congruence.
  - rewrite (sum_only k i (fun _ => f h - f i)), (sum_only k h (fun _ => f i - f h)) by auto. unfold f. lra. Qed.
Lemma lex_trans s t u : lexicographically_less s t -> lexicographically_less t u -> lexicographically_less s u.
Proof. revert t u. induction s as [|x s IH]; intros [|y t] [|z u]; simpl; try tauto. intros [A|[-> A]] [B|[-> B]]; try
  (left; lra). right. split; [auto|apply (IH t u A B)]. Qed.
(* One VM of h goes to i. *)
Definition moved (b : nat -> nat) i h g := if Nat.eqb g i then S (b g) else if Nat.eqb g h then pred (b g) else b g.
Lemma after_a_move P b i h : model P -> (i < n P)%nat -> (h < n P)%nat -> i <> h -> (0 < b h)%nat -> let q :=
  INR (pred (b h)) / INR (wish P h) in fraction P b i <= q -> (fraction P b i = q -> (wish P i <= wish P h)%nat) ->
  sort (n P) (fraction P b) = sort (n P) (fraction P (moved b i h)) \/
  lexicographically_less (sort (n P) (fraction P b)) (sort (n P) (fraction P (moved b i h))).
Proof. intros M I H N B q Le Tie. pose proof (wish_gt0 P M) as W. assert (mi : fraction P (moved b i h) i = fraction P b
  i + / INR (wish P i)) by (unfold fraction, moved; rewrite Nat.eqb_refl, S_INR; unfold Rdiv; ring). assert (mh :
  fraction P (moved b i h) h = q) by (unfold fraction, moved, q; rewrite Nat.eqb_refl; destruct (Nat.eqb_spec h i);
  [congruence|auto]). assert (bh : fraction P b h = q + / INR (wish P h)) by (unfold fraction, q; replace (b h) with (S
  (pred (b h))) at 1 by lia; rewrite S_INR; unfold Rdiv; ring). assert (mo : forall g, g <> i -> g <> h -> fraction P
  (moved b i h) g = fraction P b g) by (intros g Gi Gh; unfold fraction, moved; destruct (Nat.eqb_spec g i),
  (Nat.eqb_spec g h); tauto). pose proof (Rinv_0_lt_compat _ (W i)) as Wi. pose proof (Rinv_0_lt_compat _ (W h)) as Wh.
  destruct (Rle_lt_or_eq_dec _ _ Le) as [Lt|E].
  - right. apply (larger_by_least (n P) _ _ (fraction P b i) i); auto; [|rewrite mi; lra]. intros g G D. destruct
    (Nat.eq_dec g i) as [->|Gi]; [lra|]. destruct (Nat.eq_dec g h) as [->|Gh]; [lra|]. rewrite mo in D by auto. tauto.
  - specialize (Tie E). assert (Inv : / INR (wish P h) <= / INR (wish P i)) by (apply Rinv_le_contravar; auto; apply
    le_INR; auto). rewrite <- (swapped (n P) (fraction P b) i h) by auto. set (y := fun g => fraction P b (swap i h g)).
    assert (yi : y i = q + / INR (wish P h)) by (unfold y, swap; rewrite Nat.eqb_refl; auto). assert (yo : ∀ g < n P, g
    <> i -> y g = fraction P (moved b i h) g). { intros g _ Gi. unfold y, swap. destruct (Nat.eqb_spec g i); [tauto|].
    destruct (Nat.eqb_spec g h) as [->|Gh]; [lra|rewrite mo; auto]. } destruct (Rle_lt_or_eq_dec _ _ Inv) as [Lt|Eq];
    [right|left].
    + apply more_is_larger with i; auto; [|lra]. intros g G. destruct (Nat.eq_dec g i) as [->|Gi]; [lra|]. rewrite yo by
      auto. lra.
    + unfold sort. f_equal. apply map_ext_in. intros g G. apply in_seq in G. destruct (Nat.eq_dec g i) as [->|Gi];
      [lra|apply yo; auto; lia]. Qed.
Lemma some_smaller k (a b : nat -> nat) : (∃ i < k, (a i < b i)%nat) \/ ∀ i < k, (b i <= a i)%nat.
Proof. destruct (dec_ex k (fun i => (a i < b i)%nat)) as [Y|N]; [intros i; apply lt_dec|auto|right]. intros i I.
  destruct (le_lt_dec (b i) (a i)); [auto|destruct N; exists i; auto]. Qed.
Lemma one_more_total P a i : (i < n P)%nat -> total P (one_more a i) = total P a + 1.
Proof. intros I. unfold total. rewrite <- (sum_only (n P) i (fun _ => 1) I), <- sum_plus. apply sum_ext; intros g _.
  unfold one_more. destruct (Nat.eqb g i); [rewrite S_INR|]; lra. Qed.
(* {lem-virtual_cluster-share} Part 2: ties go to the smallest wish. *)
Theorem leximin_in_whole P x T : model P -> run P (smallest P) x T ->
  lexicographically_max_min (n P) (fun y => exists b, allowed P b /\ forall i, y i = fraction P b i) (fraction P (x T)).
Proof. intros M R y [b [Ab Ey]]. replace (sort (n P) y) with (sort (n P) (fraction P b)) by (unfold sort; f_equal; apply
  map_ext; auto). clear y Ey. assert (Ru : forall a i, smallest P a i -> least P a i) by (intros a i L; apply L). set
  (far := fun b : nat -> nat => Σ i < n P, INR ((b i - x T i) + (x T i - b i))). assert (K : far b <= INR (C P + C P)).
  { rewrite plus_INR. destruct Ab as [_ Tb]. rewrite <- (proj2 (proj2 R)) at 2. apply Rle_trans with (total P b + total
  P (x T)); [|lra]. unfold total. rewrite <- sum_plus. apply sum_le; intros i _. rewrite <- plus_INR. apply le_INR. lia.
  } revert b Ab K. induction (C P + C P)%nat as [|k IH]; intros b [B Tb] K Lx.
  all: destruct (some_smaller (n P) b (x T)) as [[i [I Lt]]|Ge].
  1: { assert (1 <= far b); [|simpl in K; lra]. apply Rle_trans with (INR ((b i - x T i) + (x T i - b i))); [apply
    (le_INR 1); lia|]. apply (sum_term (n P) (fun i => INR ((b i - x T i) + (x T i - b i)))); auto. intros; apply
    pos_INR. }
  2: { assert (closer : forall b', (∀ g < n P, ((b' g - x T g) + (x T g - b' g) <= (b g - x T g) + (x T g - b g))%nat)
    -> (S ((b' i - x T i) + (x T i - b' i)) <= (b i - x T i) + (x T i - b i))%nat -> far b' <= INR k). { intros b' Le
    Li. apply Rle_trans with (far b - 1); [|rewrite S_INR in K; lra]. apply sum_gap with i; auto; [intros g G; apply
    le_INR; auto|]. apply le_INR in Li. rewrite S_INR in Li. lra. } destruct (some_smaller (n P) (x T) b) as [[h [H
    Gt]]|Le].
    - pose proof (B i I). pose proof (B h H). assert (N : i <> h) by (intros ->; lia). assert (In := fun g => within P
      (smallest P) x T M R Ru T g (le_n T)). pose proof (In i I). pose proof (In h H). destruct (key P (smallest P) x T
      M R Ru i h I H ltac:(lia) ltac:(lia)) as [c [r [E [F [[_ Sm] Tie]]]]]. pose proof (wish_gt0 P M) as W. assert (Pc
      : fraction P b i <= INR c / INR (wish P i)) by (apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat;
      auto|apply le_INR; lia]). assert (Qc : fraction P (x T) h <= INR (pred (b h)) / INR (wish P h)) by (apply
      Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|apply le_INR; lia]). assert (Ot : forall g, moved b i h g
      = if Nat.eqb g i then S (b g) else if Nat.eqb g h then pred (b g) else b g) by auto. apply (IH (moved b i h)).
      + split; [intros g G; rewrite Ot; pose proof (B g G); destruct (Nat.eqb_spec g i), (Nat.eqb_spec g h); subst;
        lia|]. rewrite <- Rplus_0_r with (total P (moved b i h)). apply Rle_trans with (2 := Tb). assert (Q : total P
        (one_more (moved b i h) h) = total P (one_more b i)). { apply sum_ext; intros g _. f_equal. unfold one_more.
        rewrite Ot. destruct (Nat.eqb_spec g i), (Nat.eqb_spec g h); subst; lia. } rewrite !one_more_total in Q by auto.
        lra.
      + apply closer; [intros g G; rewrite Ot; destruct (Nat.eqb_spec g i) as [->|]; [lia|]; destruct (Nat.eqb_spec g h)
        as [->|]; lia|]. rewrite Ot, Nat.eqb_refl. lia.
      + destruct (after_a_move P b i h M I H N ltac:(lia) ltac:(simpl; lra)) as [<-|L]; [|auto|]. { intros Q. apply Sm.
        apply Tie. lra. } apply (lex_trans _ _ _ Lx L).
    - apply (IH (one_more b i)).
      + split; [intros g G; pose proof (B g G); pose proof (within P (smallest P) x T M R Ru T g (le_n T) G); unfold
        one_more; destruct (Nat.eqb_spec g i) as [->|]; lia|]. rewrite <- (proj2 (proj2 R)). apply sum_le; intros g G.
        apply le_INR. specialize (Le g G). unfold one_more. destruct (Nat.eqb_spec g i) as [->|]; lia.
      + apply closer; intros; unfold one_more; [destruct (Nat.eqb_spec g i) as [->|]; lia|rewrite Nat.eqb_refl; lia].
      + apply (lex_trans _ _ _ Lx). pose proof (wish_gt0 P M) as W. apply more_is_larger with i; auto.
        * intros g _. unfold fraction, one_more. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|apply
          le_INR]. destruct (Nat.eqb g i); lia.
        * unfold fraction, one_more. rewrite Nat.eqb_refl. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; auto| apply
          lt_INR; lia]. }
  all: apply (lexicographically_less_asym _ _ Lx); replace (sort (n P) (fraction P b)) with (sort (n P) (fraction P (x
    T))) in Lx; [exfalso; apply (lexicographically_less_asym _ _ Lx Lx)|]; unfold sort; f_equal; apply map_ext_in;
    intros g G; apply in_seq in G; unfold fraction; f_equal; f_equal; destruct (some_smaller (n P) (x T) b) as [[h [H
    Gt]]|Le]; [exfalso|specialize (Le g ltac:(lia)); specialize (Ge g ltac:(lia)); lia]; apply (Rle_not_lt _ _ Tb);
    rewrite <- (proj2 (proj2 R)); apply sum_lt with h; auto; [intros f Ff; apply le_INR; auto|apply lt_INR; auto]. Qed.
(* ------------------------------------------------------------------------------------------- all subsets *)
(* {model} *)
(* Items of the sizes s are packed into the bins 0, 1, ... of the sizes c; S says which of the n items are meant. *)
Record packing := Packing { items : nat; bins : nat; size : nat -> R; room : nat -> R }.
Definition proper P := (0 < bins P)%nat /\ (forall i, 0 <= size P i) /\ forall k, 0 <= room P k.
(* what lies in bin k if item i is put into bin g i *)
Definition filled P (S : nat -> bool) (g : nat -> nat) k := Σ i < items P, if andb (S i) (Nat.eqb (g i) k) then size P i else 0.
(* S can be packed into the bins up to b, with use u of bin b. *)
Definition packs P S (v : nat * R) := (fst v < bins P)%nat /\ exists g, (∀ i < items P, S i = true -> (g i <= fst v)%nat) /\
  (forall k, (k <= fst v)%nat -> filled P S g k <= room P k) /\ filled P S g (fst v) = snd v.
Definition before (v w : nat * R) := (fst v < fst w)%nat \/ fst v = fst w /\ snd v <= snd w.
(* The value of S; None is infinity. *)
Definition below_or_equal v w := match v, w with Some a, Some b => before a b | None, Some _ => False | _, None => True end.
Definition value P S v := match v with Some a => packs P S a | None => True end /\ forall w, packs P S w ->
  below_or_equal v (Some w).
(* Item of size z is added: w is add v z. *)
Definition adds P (v : option (nat * R)) z w := match v with None => w = None | Some (b, u) =>
  (u + z <= room P b /\ w = Some (b, u + z)) \/ (room P b < u + z /\
  ((exists k, (b < k < bins P)%nat /\ z <= room P k /\ (forall l, (b < l < k)%nat -> room P l < z) /\ w = Some (k, z)) \/
   ((forall l, (b < l < bins P)%nat -> room P l < z) /\ w = None))) end.
Definition without (S : nat -> bool) i h := if Nat.eqb h i then false else S h.
(* {end} *)
Lemma filled_ge0 P S g k : proper P -> 0 <= filled P S g k.
Proof. intros [_ [Z _]]. apply sum_ge0; intros i _. destruct (andb _ _); [auto|lra]. Qed.
Lemma filled_without P S g k i : (i < items P)%nat -> S i = true ->
  filled P S g k = filled P (without S i) g k + if Nat.eqb (g i) k then size P i else 0.
Proof. intros I Si. unfold filled. rewrite <- (sum_only (items P) i (fun _ => if Nat.eqb (g i) k then size P i else 0)
  I), <- sum_plus. apply sum_ext; intros h _. unfold without. destruct (Nat.eqb_spec h i) as [->|]; [rewrite Si;
  simpl|]; destruct (Nat.eqb _ k); simpl; try lra; destruct (S h); simpl; lra. Qed.
Lemma below_trans u v w : below_or_equal u v -> below_or_equal v w -> below_or_equal u w.
Proof. destruct u as [[a x]|], v as [[b y]|], w as [[c z]|]; simpl; try tauto. unfold before; simpl. intros [A|[A B]]
  [D|[D E]]; try (left; lia). right. split; [lia|lra]. Qed.
(* What add gives packs S, if it is not infinite. *)
Lemma add_packs P S i v w : proper P -> (i < items P)%nat -> S i = true -> packs P (without S i) v ->
  adds P (Some v) (size P i) (Some w) -> packs P S w.
Proof. intros Pr I Si [B [g [G [F U]]]] A. destruct v as [b u]. simpl in *. assert (put : forall k, (b <= k < bins
  P)%nat -> filled P (without S i) g k + size P i <= room P k -> (forall l, (b < l)%nat -> filled P (without S i) g l =
  0) -> packs P S (k, filled P (without S i) g k + size P i)). { intros k K R Z. split; [simpl; lia|]. exists (fun h =>
  if Nat.eqb h i then k else g h). assert (E : forall l, filled P S (fun h => if Nat.eqb h i then k else g h) l = filled
  P (without S i) g l + if Nat.eqb k l then size P i else 0). { intros l. rewrite (filled_without P S _ l i I Si),
  Nat.eqb_refl. f_equal. apply sum_ext; intros h _. unfold without. destruct (Nat.eqb h i); auto. } simpl. split;
  [|split].
    - intros h H Sh. specialize (G h H). unfold without in G. destruct (Nat.eqb h i); [lia|specialize (G Sh); lia].
    - intros l L. rewrite E. destruct (Nat.eqb_spec k l) as [->|]; [auto|]. destruct (le_lt_dec l b); [specialize (F l
      ltac:(lia)); lra|]. rewrite Z by auto. destruct Pr as [_ [_ R0]]. specialize (R0 l). lra.
    - rewrite E, Nat.eqb_refl. auto. } assert (Z : forall l, (b < l)%nat -> filled P (without S i) g l = 0). { intros l
      L. apply sum_zero; intros h H. specialize (G h H). destruct (without S i h); [specialize (G eq_refl)|auto].
      destruct (Nat.eqb_spec (g h) l); [lia|auto]. } destruct A as [[L E]|[L [[k [K [R [_ E]]]]|[_ E]]]]; [|
      |discriminate]; injection E as ->.
  - rewrite <- U. apply put; [lia|rewrite U; auto|auto].
  - replace (size P i) with (filled P (without S i) g k + size P i) at 1 by (rewrite Z by lia; lra). apply put; [lia|
    |auto]. rewrite Z by lia. lra. Qed.
(* Adding is monotone. *)
Lemma add_mono P v w z v' w' : 0 <= z -> 0 <= snd w -> (fst w < bins P)%nat -> before v w -> adds P (Some v) z v' ->
  adds P (Some w) z w' -> below_or_equal v' w'.
Proof. intros Z U Cb L A B. destruct v as [b u], w as [c x]; unfold before in L; simpl in *. assert (first : forall l k,
  (forall j, (b < j < l)%nat -> room P j < z) -> (b < k)%nat -> z <= room P k -> (l <= k)%nat). { intros l k No K R.
  destruct (le_lt_dec l k); [auto|]. specialize (No k ltac:(lia)). lra. } destruct B as [[Fw ->]|[Fw [[k [K [R [No
  ->]]]]|[No ->]]]]; [| |destruct v'; exact I].
  - destruct L as [L|[-> M]].
    + destruct A as [[Fv ->]|[Fv [[l [Kl [Rl [Nl ->]]]]|[Nl ->]]]]; unfold below_or_equal, before; simpl; [left; lia|
      |].
      * pose proof (first l c Nl L ltac:(lra)). destruct (Nat.eq_dec l c); [right; split; [auto|lra]|left; lia].
      * specialize (Nl c ltac:(lia)). lra.
    + destruct A as [[Fv ->]|[Fv _]]; [right; simpl; split; [auto|lra]|lra].
  - assert (b <= c)%nat by lia. destruct A as [[Fv ->]|[Fv [[l [Kl [Rl [Nl ->]]]]|[Nl ->]]]]; unfold below_or_equal,
    before; simpl.
    + left; lia.
    + pose proof (first l k Nl ltac:(lia) R). destruct (Nat.eq_dec l k); [right; split; [auto|lra]|left; lia].
    + specialize (Nl k ltac:(lia)). lra. Qed.
(* {thm-virtual_cluster-subsets} The value of no items *)
Theorem no_items P S : proper P -> (∀ i < items P, S i = false) -> value P S (Some (0%nat, 0)).
Proof. intros Pr No. assert (Z : forall g k, filled P S g k = 0) by (intros; apply sum_zero; intros i I; rewrite No by
  auto; auto). split.
  - split; [apply Pr|]. exists (fun _ => O). split; [intros; simpl; lia|]. rewrite Z. split; [intros; rewrite Z; apply
    Pr|auto].
  - intros [b u] [_ [g [_ [_ U]]]]. simpl in *. rewrite Z in U. unfold before; simpl. destruct b; [right; split;
    [auto|lra]|left; lia]. Qed.
(* {thm-virtual_cluster-subsets} The value of S is the least of all w i, which add gives; v i is the value without i. *)
Theorem all_subsets P S v w z : proper P -> (forall i, (i < items P)%nat -> S i = true -> value P (without S i) (v i) /\
  adds P (v i) (size P i) (w i)) -> (∃ i < items P, S i = true /\ z = w i) ->
  (∀ i < items P, S i = true -> below_or_equal z (w i)) -> value P S z.
Proof. intros Pr V [i [I [Si ->]]] L. split.
  - destruct (w i) as [a|] eqn:E; [|exact Logic.I]. destruct (V i I Si) as [[Vi _] A]. rewrite E in A. destruct (v i) as
    [b|]; [|discriminate]. apply (add_packs P S i b a Pr I Si Vi A).
  - assert (full : forall b u h, (b < bins P)%nat -> forall g, (∀ i < items P, S i = true -> (g i <= b)%nat) -> (forall
    k, (k <= b)%nat -> filled P S g k <= room P k) -> filled P S g b = u -> (h < items P)%nat -> S h = true -> g h = b
    -> below_or_equal (w i) (Some (b, u))). { (* item h lies in the last bin *) intros b u h B g G F U H Sh Gh. apply
    below_trans with (w h); [apply L; auto|]. destruct (V h H Sh) as [[_ Least] A]. pose proof (filled_without P S g b h
    H Sh) as E. rewrite Gh, Nat.eqb_refl, U in E. assert (Pk : packs P (without S h) (b, u - size P h)). { split; [exact
    B|]. exists g. simpl. split; [|split; [|lra]].
      - intros k Kk Sk. apply G; auto. unfold without in Sk. destruct (Nat.eqb k h); [discriminate|auto].
      - intros k Kk. specialize (F k Kk). rewrite (filled_without P S g k h H Sh) in F. pose proof (proj1 (proj2 Pr) h).
        destruct (Nat.eqb (g h) k); lra. } specialize (Least _ Pk). destruct (v h) as [a|]; [|destruct Least]. pose
        proof (filled_ge0 P (without S h) g b Pr). apply (add_mono P a (b, u - size P h) (size P h)); auto; simpl;
        [apply Pr|lra|]. left. specialize (F b (le_n b)). replace (u - size P h + size P h) with u by ring. split;
        [lra|auto]. } intros [b u] [B [g [G [F U]]]]. simpl in *. revert u B G F U. induction b as [|b IH]; intros u B G
        F U.
    + apply (full O u i B g G F U I Si). specialize (G i I Si). lia.
    + destruct (dec_ex (items P) (fun h => S h = true /\ g h = Datatypes.S b)) as [[h [H [Sh Gh]]]|N]. { intros h.
      destruct (S h); [destruct (Nat.eq_dec (g h) (Datatypes.S b)); [left; auto|right; intros [_ Q]; tauto]|right;
      intros [Q _]; discriminate]. }
      * apply (full (Datatypes.S b) u h B g G F U H Sh Gh).
      * (* the bin is empty: a smaller pair would do *) apply below_trans with (Some (b, filled P S g b)); [|left;
        simpl; lia]. apply IH; auto; [lia|]. intros h H Sh. specialize (G h H Sh). destruct (Nat.eq_dec (g h)
        (Datatypes.S b)); [destruct N; exists h; auto|lia]. Qed.
(* {whole} lem-virtual_cluster-share thm-virtual_cluster-subsets *)
