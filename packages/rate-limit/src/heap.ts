/** A member of a heap. The heap maintains both numbers. */
export interface HeapEntry {
  /** The heap returns the entry with the lowest rank first. */
  rank: number;
  /** The position in the heap. */
  index: number;
}

/** A binary heap whose entries know their position, so that moving or removing one needs no search. */
export interface Heap<E extends HeapEntry> {
  readonly first: E | undefined;
  add(entry: E): void;
  /** Changes the rank of an entry. */
  move(entry: E, rank: number): void;
  remove(entry: E): void;
}

/** Creates an empty heap. Each operation takes a number of steps that grows with the logarithm of the size. */
export function createHeap<E extends HeapEntry>(): Heap<E> {
  const entries: E[] = [];

  function put(entry: E, index: number): void {
    entries[index] = entry;
    entry.index = index;
  }

  /** Puts an entry at a position, or at the higher or lower position that its rank requires. */
  function place(entry: E, from: number): void {
    let index = from;
    for (let above = (index - 1) >> 1; index > 0; above = (index - 1) >> 1) {
      const other = entries[above] as E;
      if (other.rank <= entry.rank) break;
      put(other, index);
      index = above;
    }
    for (let below = lowerBelow(index); below !== undefined; below = lowerBelow(index)) {
      if (below.rank >= entry.rank) break;
      const next = below.index;
      put(below, index);
      index = next;
    }
    put(entry, index);
  }

  function lowerBelow(index: number): E | undefined {
    const left = entries[2 * index + 1];
    const right = entries[2 * index + 2];
    return right !== undefined && left !== undefined && right.rank < left.rank ? right : left;
  }

  return {
    get first() {
      return entries[0];
    },
    add(entry) {
      entries.push(entry);
      place(entry, entries.length - 1);
    },
    move(entry, rank) {
      entry.rank = rank;
      place(entry, entry.index);
    },
    remove(entry) {
      const last = entries.pop() as E;
      if (last !== entry) place(last, entry.index);
    },
  };
}
