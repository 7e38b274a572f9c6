/**
 * Has the rows of a list looked up by their key, one after the other, whatever the planner believes. A list of one id keeps it from
 * reading the whole key, which is what it takes for cheap while it believes that the table is empty. That a text is itself and
 * nothing is what it takes for rare: for more than one it would read a table that many jobs have left.
 */
export function byKey(list: string): string {
  return `job.id = any(array[${list}.id]) and ${list}.id || '' = ${list}.id`;
}
