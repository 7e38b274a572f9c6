import type { Fault } from "@svc/options";

// A file of a megabyte can hold a hundred thousand faults; nobody reads them, and they would be costly to word.
const most = 100;

/** Collects faults up to a number that a person can read, and counts the rest. */
export class FaultList {
  readonly #faults: Fault[] = [];
  #left = 0;

  /** How many there are. */
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
