const pattern = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/**
 * Returns a time in UTC with milliseconds, the only format that this service writes. Truncates finer fractions. Returns
 * undefined for a string that is not RFC 3339 with a zone, for a day that does not exist (`Date` would read February 30 as
 * March 2), and for a year before 1900 or after 2199.
 */
export function utcTime(text: string): string | undefined {
  const day = pattern.exec(text)?.[1];
  if (day === undefined || !isDay(day)) return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) return undefined;
  const written = new Date(time).toISOString();
  return /^(19|20|21)\d\d-/.test(written) ? written : undefined;
}

function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}
