/**
 * Returns a condition that makes the planner look up each row of a list by key. The one-element array prevents a scan
 * of the whole index, which looks cheap while the statistics say that the table is empty. The comparison with `id ||
 * ''` looks selective, so the planner does not scan a bloated table for several ids.
 */
export function byKey(list: string): string {
  return `job.id = any(array[${list}.id]) and ${list}.id || '' = ${list}.id`;
}
