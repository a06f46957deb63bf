"""Relevance judgements (qrels): labels of items in instances, against which rankings are evaluated."""

from __future__ import annotations

import numpy as np

from concordant.ballots.build import as_numbers
from concordant.ballots.form import listed_classes
from concordant.ballots.segments import pointer
from concordant.ballots.vocabulary import Vocabulary, encode, shorten
from concordant.errors import InputError, action
from concordant.support.frozen import Frozen, freeze
from concordant.types import AnyArray, Floats, Int32s, Int64s


def refuse_classes(labels: Labels) -> None:
    """Raise an error if labels are classes without an order, where relevance grades are needed."""
    if labels.classes is not None:
        raise InputError(
            f"The labels are classes without an order ({listed_classes(labels.classes)}), not relevance grades: give "
            "numbers, or " + action("gold", "evaluate answers with cc.crowd.reliability") + "."
        )


class Labels(Frozen):
    """Relevance labels of items in instances, sorted by instance.

    Instance q owns rows ``ptr[q]:ptr[q + 1]`` of ``item`` and ``label``. Other data are joined by the names of
    instances and items.

    Parameters
    ----------
    instance : array-like or None
        The instance (query, topic) of every row; None if there is only one.
    item : array-like
        The item (document) of every row.
    label : array-like of float
        The relevance grade of every row; higher is more relevant. With ``classes``, the position of its class.
    classes : Vocabulary, optional
        Names of the classes, if labels are classes without an order (the gold answers of a crowd).

    Raises
    ------
    InputError
        If the columns differ in length, or an item has two labels in one instance.

    Examples
    --------
    >>> import concordant as cc
    >>> labels = cc.Labels(["q1", "q1", "q2"], ["d1", "d2", "d1"], [2, 0, 1])
    >>> labels
    Labels(3 labels, 2 items, 2 instances)
    """

    instances: Vocabulary | None
    items: Vocabulary
    item: Int32s
    label: Floats
    ptr: Int64s
    classes: Vocabulary | None

    def __init__(self, instance: object, item: object, label: object, classes: Vocabulary | None = None) -> None:
        """Encode the columns and sort the rows by instance; raise InputError if an item is labelled twice."""
        item_codes, items = encode(item, "item")
        n = len(item_codes)
        instance_codes, instances = np.zeros(n, np.int32), None
        if instance is not None:
            instance_codes, instances = encode(instance, "instance")
            if len(instance_codes) != n:
                raise InputError(f"There are {len(instance_codes)} instances for {n} labelled items: give one per row.")
        order = np.argsort(instance_codes, kind="stable")
        bounds = np.arange((1 if instances is None else len(instances)) + 1)
        ptr = np.searchsorted(instance_codes[order], bounds).astype(np.int64)
        vars(self).update(instances=instances, items=items, ptr=ptr, classes=classes)
        vars(self).update(item=item_codes[order], label=as_numbers(label, n, "label")[order])
        freeze(self.ptr, self.item, self.label)
        self._check_repeats()
        if classes is not None and not np.isin(self.label, np.arange(len(classes))).all():
            raise InputError("A label is not the position of a class: labels must be positions in the vocabulary.")

    @classmethod
    def of_classes(cls, instance: object, item: object, label: object) -> Labels:
        """Create labels that are classes without an order, such as the gold answers of a crowd.

        Parameters
        ----------
        instance : array-like or None
            The instance of every row; None if there is only one.
        item : array-like
            The item (task) of every row.
        label : array-like of str
            The class of every row.

        Returns
        -------
        Labels
            Labels with ``classes``.

        Examples
        --------
        >>> import concordant as cc
        >>> gold = cc.Labels.of_classes(None, ["t1", "t2"], ["cat", "dog"])
        >>> gold.classes.labels, gold.label.tolist()
        (['cat', 'dog'], [0.0, 1.0])
        """
        codes, classes = encode(label, "label")
        return cls(instance, item, codes.astype(np.float64), classes)

    def _check_repeats(self) -> None:
        """Raise InputError if an item has two labels in one instance."""
        from concordant import kernels

        instance, row = kernels.find_repeated(self.ptr, self.item, len(self.items))
        if instance >= 0:
            where = "" if self.instances is None else f" in instance {shorten(self.instances[instance])!r}"
            raise InputError(
                f"The item {shorten(self.items[self.item[row]])!r} is labelled twice{where}: keep one label."
            )

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return len(self.ptr) - 1

    def __len__(self) -> int:
        return len(self.label)

    def __repr__(self) -> str:
        classes = "" if self.classes is None else f", {len(self.classes):,} classes"
        return f"Labels({len(self):,} labels, {len(self.items):,} items, {self.n_instances:,} instances{classes})"

    def aligned(self, instances: Vocabulary | None, items: Vocabulary) -> tuple[Int64s, Int32s, Floats, Int64s]:
        """Return the labels in the integer codes of another vocabulary of instances and items.

        The result of the latest call is cached.

        Parameters
        ----------
        instances : Vocabulary or None
            Instances of the other data.
        items : Vocabulary
            Items of the other data.

        Returns
        -------
        ptr : ndarray of int64
            Row ranges of the other data's instances; empty for an instance without labels.
        item : ndarray of int32
            Item codes. Items that are not in the other data get codes from ``len(items)`` up, because they still
            count as relevant items.
        label : ndarray of float64
            Labels of the rows.
        own_instance : ndarray of int64
            Index of each of the other data's instances here, -1 if it has no labels.

        Raises
        ------
        InputError
            If only one of the two names instances, or the labels are classes without an order.
        """
        refuse_classes(self)
        return self._aligned(instances, items)

    def _aligned(self, instances: Vocabulary | None, items: Vocabulary) -> tuple[Int64s, Int32s, Floats, Int64s]:
        """Return the result of ``aligned``, also for classes."""
        latest = vars(self).get("_latest")
        if latest is None or latest[0] is not instances or latest[1] is not items:
            latest = vars(self)["_latest"] = (instances, items, self._align(instances, items))
        return latest[2]

    def _align(self, instances: Vocabulary | None, items: Vocabulary) -> tuple[Int64s, Int32s, Floats, Int64s]:
        """Return the result of ``aligned`` without its cache."""
        if (instances is None) != (self.instances is None) and max(len(instances or ""), self.n_instances) > 1:
            raise InputError(
                "Only one of the ranking and the labels names instances: give both the same instance column."
            )
        if instances is None or self.instances is None:
            own_instance = np.zeros(1, np.int64)
        else:
            own_instance = self.instances.codes(instances).astype(np.int64)
        sizes = np.where(own_instance >= 0, np.diff(self.ptr)[own_instance], 0)
        ptr = pointer(sizes)
        rows = np.arange(ptr[-1]) + np.repeat(np.where(own_instance >= 0, self.ptr[own_instance], 0) - ptr[:-1], sizes)
        item_code = items.codes(self.items)
        unknown_items = np.flatnonzero(item_code < 0)
        item_code[unknown_items] = len(items) + np.arange(len(unknown_items), dtype=np.int32)
        return ptr, item_code[self.item[rows]], self.label[rows], own_instance

    def for_items(self, instance_of: AnyArray, instances: Vocabulary | None, items: Vocabulary, item: Int32s) -> Floats:
        """Look up the label of each (instance, item) pair, given as codes of another vocabulary.

        Parameters
        ----------
        instance_of : array of int
            Instance code of each pair.
        instances : Vocabulary or None
            Vocabulary of the instance codes.
        items : Vocabulary
            Vocabulary of the item codes.
        item : ndarray of int32
            Item code of each pair.

        Returns
        -------
        ndarray of float64
            One label per pair, NaN where the item is unjudged; for classes, positions in ``classes``.
        """
        ptr, labelled_item, label, _ = self._aligned(instances, items)
        width = len(items) + len(self.items)
        key = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * width + labelled_item
        order = np.argsort(key)
        wanted = np.asarray(instance_of, np.int64) * width + item
        if not len(key):
            return np.full(len(wanted), np.nan)
        position = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        row = order[position]
        return np.where(key[row] == wanted, label[row], np.nan)
