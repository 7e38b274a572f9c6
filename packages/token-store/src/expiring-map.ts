/** A value and the moment, on the clock of its store, from which on it counts no more. */
export interface Expiring {
  readonly expiresAt: number;
}

/** Entries that end. One that has ended is as good as absent, whether or not it was swept already. */
export class ExpiringMap<V extends Expiring> {
  readonly #entries = new Map<string, V>();

  /** Counts entries that have ended and were not swept yet, too. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string, at: number): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAt > at ? entry : undefined;
  }

  /** Whether setting the key takes no further room. */
  holds(key: string): boolean {
    return this.#entries.has(key);
  }

  set(key: string, entry: V): void {
    this.#entries.set(key, entry);
  }

  sweep(at: number): void {
    for (const [key, { expiresAt }] of this.#entries) {
      if (expiresAt <= at) this.#entries.delete(key);
    }
  }

  clear(): void {
    this.#entries.clear();
  }
}
