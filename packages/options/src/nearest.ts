/** Returns the known name that is closest to `name`, or undefined when none is close enough to be a typing error. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  // Skip long names: the comparison takes quadratic time, and option names are short.
  if (name.length > 100) return undefined;
  let best: string | undefined;
  const wanted = fold(name);
  // The distance must be below the length of the name, or a one-letter name would match any other letter.
  let bestDistance = Math.min(wanted.length, Math.max(1, Math.floor(wanted.length / 3)) + 1);
  for (const candidate of known) {
    const other = fold(candidate);
    if (Math.abs(other.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, other);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

// `maxage`, `max-age` and `max_age` probably stand for `maxAge`.
function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/** Counts the letters that are wrong, missing, extra, or swapped with a neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let distance = Math.min(substitution, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(distance);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
