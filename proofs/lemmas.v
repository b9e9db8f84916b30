(* Lemmas that more than one chapter rests on, of any set of vectors. *)
From Coq Require Import List.
From proofs Require Import sums.
Import ListNotations.
Local Open Scope R_scope.
(* {model} *)
Definition within x (u : option R) := match u with Some v => x <= v | None => True end.
(* Of n entries: no entry is larger in another vector of the set S unless one that is no larger gets smaller. *)
Definition max_min n (S : (nat -> R) -> Prop) y := forall y', S y' -> ∀ i < n, y i < y' i ->
  ∃ h < n, y' h < y h /\ y h <= y i.
Fixpoint insert x (s : list R) := match s with [] => [x] | z :: t => if Rle_dec x z then x :: s else z ::
  insert x t end.
Definition sort (k : nat) (y : nat -> R) := fold_right insert [] (map y (seq 0 k)).
Fixpoint lexicographically_less (s t : list R) := match s, t with
  | x :: s, z :: t => x < z \/ (x = z /\ lexicographically_less s t) | _, _ => False end.

(* The sorted vector is the largest in S. *)
Definition lexicographically_max_min n (S : (nat -> R) -> Prop) y := forall y', S y' ->
  ~ lexicographically_less (sort n y) (sort n y').
(* {end} *)

(* ------------------------------------------------------------------ sorted vectors by how many entries lie below *)
Fixpoint below z (s : list R) := match s with [] => O | x :: t => (if Rle_dec x z then 1 else 0) + below z t end%nat.
Definition inc (s : list R) := forall p q x z, (p < q)%nat -> nth_error s p = Some x -> nth_error s q = Some z ->
  x <= z.
Lemma inc_cons x s : inc (x :: s) -> inc s /\ forall z, In z s -> x <= z.
Proof. intros I; split; [intros p q u v L Hp Hq; apply (I (S p) (S q)); auto; lia|].
  intros z Z; apply In_nth_error in Z as [q Hq]. apply (I O (S q)); auto; lia. Qed.
Lemma insert_below z x s : below z (insert x s) = below z (x :: s).
Proof. induction s as [|u t IH]; [reflexivity|]. simpl insert; destruct (Rle_dec x u); [reflexivity|].
  cbn [below] in *; rewrite IH; lia. Qed.
Lemma insert_In x z s : In z (insert x s) -> z = x \/ In z s.
Proof. induction s as [|u t IH]; simpl; [intuition|]. destruct (Rle_dec x u); simpl; intuition. Qed.
Lemma insert_inc x s : inc s -> inc (insert x s).
Proof. induction s as [|u t IH]; intros I; simpl.
  - intros [|[|p]] [|[|q]]; simpl; intros; try lia; try discriminate.
  - destruct (inc_cons _ _ I) as [It Lt]. destruct (Rle_dec x u) as [L|G].
    + intros [|p] [|q] y z Lpq; simpl; intros Hp Hq; try lia.
      * injection Hp as <-. destruct q; simpl in Hq; [injection Hq as <-; auto|].
        apply nth_error_In in Hq. apply Rle_trans with u; auto.
      * apply (I p q); auto; lia.
    + intros [|p] [|q] y z Lpq; simpl; intros Hp Hq; try lia.
      * injection Hp as <-. apply nth_error_In, insert_In in Hq as [->|]; [lra|auto].
      * apply (IH It p q); auto; lia. Qed.
Lemma insert_length x s : length (insert x s) = S (length s).
Proof. induction s as [|u t IH]; simpl; [auto|]. destruct (Rle_dec x u); simpl; auto. Qed.
Lemma sort_facts k y : inc (sort k y) /\ length (sort k y) = k /\
  forall z, below z (sort k y) = below z (map y (seq 0 k)).
Proof. assert (H : forall s, let r := fold_right insert [] s in inc r /\ length r = length s /\
  forall z, below z r = below z s).
  { induction s as [|x s [I [L B]]]; simpl.
    - repeat split; auto. intros [|p] q; simpl; discriminate.
    - split; [apply insert_inc; auto|split; [rewrite insert_length; auto|]].
      intros z; rewrite insert_below; simpl; rewrite B; reflexivity. }
  destruct (H (map y (seq 0 k))) as [I [L B]]; repeat split; auto. unfold sort; rewrite L, map_length, seq_length; auto.
  Qed.
Lemma below_none z s : (forall x, In x s -> z < x) -> below z s = O.
Proof. induction s as [|x t IH]; simpl; intros H; [auto|]. destruct (Rle_dec x z); [specialize (H x); lra|apply IH;
  auto]. Qed.
(* Where both have as many entries at or below each level less than z, and s more at or below z, s is the smaller. *)
Lemma lex_by_counts z s t : inc s -> inc t -> length s = length t ->
  (forall x, x < z -> below x s = below x t) -> (below z t < below z s)%nat -> lexicographically_less s t.
Proof. revert t; induction s as [|x s IH]; intros [|u t] Is It L E M; simpl in *; try lia; try discriminate.
  destruct (inc_cons _ _ Is) as [Is' Ls], (inc_cons _ _ It) as [It' Lt].
  destruct (Rtotal_order x u) as [lt|[<-|gt]]; [left; auto| |exfalso].
  - right; split; auto. apply IH; auto.
    + intros v V; specialize (E v V); destruct (Rle_dec x v); lia.
    + destruct (Rle_dec x z); lia.
  - assert (none : forall v, v < x -> ((if Rle_dec x v then 1 else 0) + below v s = 0)%nat).
    { intros v V; destruct (Rle_dec x v); [lra|]. apply below_none; intros y Y; specialize (Ls y Y); lra. }
    destruct (Rlt_le_dec u z) as [lz|gz].
    + specialize (E u lz); rewrite none in E by lra. destruct (Rle_dec u u); [lia|lra].
    + rewrite none in M by lra; lia. Qed.
Lemma below_map z k y : below z (map y (seq 0 k)) = length (filter (fun i => if Rle_dec (y i) z then true else false)
  (seq 0 k)).
Proof. induction (seq 0 k) as [|i s IH]; simpl; [auto|]. destruct (Rle_dec (y i) z); simpl; rewrite IH; auto. Qed.
Lemma filter_le (p q : nat -> bool) s : (forall i, In i s -> p i = true -> q i = true) ->
  (length (filter p s) <= length (filter q s))%nat.
Proof. induction s as [|i s IH]; simpl; intros H; [auto|]. specialize (IH (fun k K => H k (or_intror K))).
  specialize (H i (or_introl eq_refl)). destruct (p i); [rewrite H by auto; simpl; lia|destruct (q i); simpl; lia]. Qed.
Lemma filter_lt (p q : nat -> bool) s k : (forall i, In i s -> p i = true -> q i = true) ->
  In k s -> p k = false -> q k = true -> (length (filter p s) < length (filter q s))%nat.
Proof. induction s as [|i s IH]; simpl; intros H K Pk Qk; [tauto|]. assert (H' := fun k K => H k (or_intror K)).
  pose proof (filter_le p q s H'). specialize (H i (or_introl eq_refl)). destruct K as [->|K].
  - rewrite Pk, Qk; simpl; lia.
  - specialize (IH H' K Pk Qk). destruct (p i); [rewrite H by auto; simpl; lia|destruct (q i); simpl; lia]. Qed.
(* z is the least entry where y and y' differ; y' has it, and y does not. *)
Lemma larger_by_least n y y' z h : (∀ g < n, y g <> y' g -> z < y g /\ z <= y' g) -> (h < n)%nat -> y h <> y' h ->
  y' h = z -> lexicographically_less (sort n y') (sort n y).
Proof. intros above K Dh E'. destruct (sort_facts n y) as [Iy [Ly By]], (sort_facts n y') as [Iy' [Ly' By']].
  apply (lex_by_counts z); auto; [lia| |].
  - intros x X; rewrite By, By', !below_map. apply Nat.le_antisymm; apply filter_le; intros g G.
    all: apply in_seq in G; destruct (Req_dec (y g) (y' g)) as [Eg|Dg]; [rewrite Eg; auto|].
    all: destruct (above g ltac:(lia) Dg); destruct (Rle_dec _ x); [lra|discriminate].
  - rewrite By, By', !below_map. apply filter_lt with h.
    + intros g G; apply in_seq in G; destruct (Req_dec (y g) (y' g)) as [Eg|Dg]; [rewrite Eg; auto|].
      destruct (above g ltac:(lia) Dg); destruct (Rle_dec (y g) z); [lra|discriminate].
    + apply in_seq; lia.
    + destruct (above h K Dh); destruct (Rle_dec (y h) z); [lra|auto].
    + destruct (Rle_dec (y' h) z); [auto|lra]. Qed.
(* where y and y' differ, the least entry of both *)
Lemma least_difference n y y' i : (i < n)%nat -> y i <> y' i -> ∃ h < n, y h <> y' h /\ ∀ g < n, y g <> y' g ->
  Rmin (y h) (y' h) <= y g /\ Rmin (y h) (y' h) <= y' g.
Proof. intros I D. destruct (least n (fun h => y h <> y' h) (fun h => Rmin (y h) (y' h))) as [h [K [Dh L]]]; [intros h;
  destruct (Req_dec (y h) (y' h)); auto|exists i; auto|]. exists h. split; [auto|split; [auto|]]. intros g G Dg.
  specialize (L g G Dg); simpl in L. pose proof (Rmin_l (y g) (y' g)); pose proof (Rmin_r (y g) (y' g)); lra. Qed.
(* {lem-foundations-leximin} *)
Theorem max_min_is_larger n (S : (nat -> R) -> Prop) y y' i : max_min n S y -> S y' -> (i < n)%nat -> y i <> y' i ->
  lexicographically_less (sort n y') (sort n y).
Proof. intros C F' I D. destruct (least_difference n y y' i I D) as [h [K [Dh L]]]. set (z := Rmin (y h) (y' h)) in *.
  assert (above : ∀ g < n, y g <> y' g -> z < y g /\ z <= y' g). { intros g G Dg. pose proof (L g G Dg). split; [|lra].
  destruct (Rtotal_order (y g) (y' g)) as [lt|[|gt]]; [|tauto|lra]. destruct (C y' F' g G lt) as [f [Fn [Lf Le]]].
  pose proof (L f Fn ltac:(lra)); lra. } apply (larger_by_least n y y' z h above K Dh). destruct (above h K Dh).
  unfold z, Rmin in *. destruct (Rle_dec (y h) (y' h)); lra. Qed.
(* {lem-foundations-half} *)
Theorem half_way_is_larger n y y' i : (i < n)%nat -> y i <> y' i -> (∀ g < n, y g <> y' g ->
  y i <= y g /\ y i <= y' g) -> lexicographically_less (sort n y) (sort n (fun g => (y g + y' g) / 2)).
Proof. intros I D L. apply (larger_by_least n _ y (y i) i); auto; [|lra]. intros g G Dg. destruct (L g G); lra. Qed.
Lemma lexicographically_less_asym s t : lexicographically_less s t -> ~ lexicographically_less t s.
Proof. revert t; induction s as [|x s IH]; intros [|z t]; simpl; try tauto. intros [L|[-> L]] [L'|[E L']]; try lra.
  exact (IH t L L'). Qed.
Theorem max_min_is_leximin n (S : (nat -> R) -> Prop) y : S y -> max_min n S y -> lexicographically_max_min n S y.
Proof. intros F C y' F' L. destruct (least_or_none n (fun i => y i <> y' i) y) as [[i [I [D _]]]|A]; [intros i;
  destruct (Req_dec (y i) (y' i)); auto| |].
  { apply (lexicographically_less_asym _ _ L), (max_min_is_larger n S y y' i); auto. }
  assert (E : map y (seq 0 n) = map y' (seq 0 n)). { apply map_ext_in; intros i I; apply in_seq in I.
  destruct (Req_dec (y i) (y' i)) as [|D]; [auto|destruct (A i ltac:(lia) D)]. }
  unfold sort in L; rewrite E in L. exact (lexicographically_less_asym _ _ L L). Qed.
Theorem only_one n (S : (nat -> R) -> Prop) y y' : S y -> S y' -> max_min n S y -> lexicographically_max_min n S y' ->
  ∀ i < n, y i = y' i.
Proof. intros Fy Fy' C C' i I. destruct (Req_dec (y i) (y' i)) as [|D]; [auto|exfalso].
  apply (C' y Fy), (max_min_is_larger n S y y' i); auto. Qed.
(* Who has no entry smaller and one larger has the larger sorted vector. *)
Lemma more_is_larger n y y' i : (∀ h < n, y h <= y' h) -> (i < n)%nat -> y i < y' i ->
  lexicographically_less (sort n y) (sort n y').
Proof. intros Le I Lt. apply (max_min_is_larger n (fun v => v = y) y' y i); auto; [|lra]. intros v -> h H G.
  specialize (Le h H); lra. Qed.
(* One entry falls and a smaller one rises, up to it at most. *)
Lemma swap_is_larger n y y' h i : (forall g, g <> h -> g <> i -> y' g = y g) -> (i < n)%nat -> y i < y' i <= y' h ->
  lexicographically_less (sort n y) (sort n y').
Proof. intros Same I L. apply (max_min_is_larger n (fun v => v = y) y' y i); auto; [|lra]. intros v -> g G Lt.
  exists i. split; [auto|]. destruct (Nat.eq_dec g h) as [->|Nh]; [lra|].
  destruct (Nat.eq_dec g i) as [->|Ni]; [|rewrite (Same g Nh Ni) in Lt]; lra. Qed.
(* {lem-foundations-half} A convex set has at most one lexicographically maximal vector. *)
Theorem only_one_in_convex n (S : (nat -> R) -> Prop) y y' : (forall v v', S v -> S v' ->
  S (fun g => (v g + v' g) / 2)) -> S y -> S y' -> lexicographically_max_min n S y ->
  lexicographically_max_min n S y' -> ∀ i < n, y i = y' i.
Proof. intros Co F F' C C' i I. destruct (Req_dec (y i) (y' i)) as [|D]; [auto|exfalso].
  destruct (least_difference n y y' i I D) as [h [K [Dh B]]]. unfold Rmin in B; destruct (Rle_dec (y h) (y' h)).
  - apply (C _ (Co y y' F F')), (half_way_is_larger n y y' h); auto.
  - apply (C' _ (Co y' y F' F)), (half_way_is_larger n y' y h); auto. intros g G Dg. destruct (B g G); auto. Qed.
(* {whole} lem-foundations-leximin lem-foundations-half *)
