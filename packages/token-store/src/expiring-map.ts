/** A value that is valid until `expiresAt`, in milliseconds on the clock of its store. */
export interface Expiring {
  readonly expiresAt: number;
}

/** A map of entries that expire. `get` treats an expired entry as absent, even before `sweep` deletes it. */
export class ExpiringMap<V extends Expiring> {
  readonly #entries = new Map<string, V>();

  /** Number of entries, including expired entries that were not swept yet. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string, at: number): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAt > at ? entry : undefined;
  }

  /** Returns whether the map has an entry for the key, even an expired one; setting it then does not increase `size`. */
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
