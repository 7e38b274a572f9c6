import type { Fault } from "@svc/options";

// A one-megabyte file can have a hundred thousand faults, which are too many to read and slow to describe.
const most = 100;

/** Collects a limited number of faults and counts the rest. */
export class FaultList {
  readonly #faults: Fault[] = [];
  #left = 0;

  /** Number of all faults, including those that are only counted. */
  get size(): number {
    return this.#faults.length + this.#left;
  }

  add(key: string, message: () => string): void {
    if (this.#faults.length >= most) this.#left += 1;
    else this.#faults.push({ key, message: message() });
  }

  all(): readonly Fault[] {
    if (this.#left === 0) return this.#faults;
    return [...this.#faults, { key: "more", message: `${this.#left} more faults are not listed` }];
  }
}
