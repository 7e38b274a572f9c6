/** The allowed values of the five fields, each in ascending order. */
export interface CronFields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  /** From 0 to 6; 0 is Sunday. */
  readonly weekdays: readonly number[];
  /** Whether a day must match both day fields; otherwise either one is enough. */
  readonly bothDays: boolean;
}

interface Field {
  readonly title: string;
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const MINUTE: Field = { title: "minute", min: 0, max: 59, names: [] };
const HOUR: Field = { title: "hour", min: 0, max: 23, names: [] };
const DAY: Field = { title: "day of month", min: 1, max: 31, names: [] };
const MONTH: Field = {
  title: "month",
  min: 1,
  max: 12,
  names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const WEEKDAY: Field = {
  title: "day of week",
  min: 0,
  max: 7,
  names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

const MACROS: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

const MAX_LENGTH = 512;
const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A fault in an expression; its message completes a sentence: `hour: 25 is not from 0 to 23`. */
export class CronFault extends Error {
  override readonly name = "CronFault";
}

/**
 * Parses an expression of five fields, or a macro.
 *
 * @throws CronFault with the name of the field
 */
export function parseCron(expression: string): CronFields {
  if (expression.length > MAX_LENGTH) throw new CronFault(`is longer than ${MAX_LENGTH} characters`);
  const [minute, hour, day, month, weekday] = split(expression);
  const minutes = valuesOf(MINUTE, minute);
  const hours = valuesOf(HOUR, hour);
  const days = valuesOf(DAY, day);
  const months = valuesOf(MONTH, month);
  const weekdays = [...new Set(valuesOf(WEEKDAY, weekday).map((value) => value % 7))].sort((a, b) => a - b);
  // Rule of Vixie cron: a field that begins with a star counts as unrestricted, even with a step.
  const bothDays = day.startsWith("*") || weekday.startsWith("*");
  if (bothDays && !months.some((each) => days.some((value) => value <= (LONGEST_MONTHS[each - 1] ?? 0)))) {
    throw new CronFault(`day of month: no month in ${JSON.stringify(month)} has a day ${days.join(", ")}`);
  }
  return { minutes, hours, days, months, weekdays, bothDays };
}

type Five = readonly [string, string, string, string, string];

function split(expression: string): Five {
  const text = expression.trim();
  if (text.startsWith("@")) {
    const meant = MACROS.get(text.toLowerCase());
    if (meant === undefined) {
      throw new CronFault(`${shown(text)} is not a macro; expected one of ${[...MACROS.keys()].join(", ")}`);
    }
    return split(meant);
  }
  const fields = text === "" ? [] : text.split(/[ \t]+/);
  const [minute, hour, day, month, weekday] = fields;
  if (
    fields.length !== 5 ||
    minute === undefined ||
    hour === undefined ||
    day === undefined ||
    month === undefined ||
    weekday === undefined
  ) {
    const seconds = fields.length === 6 || fields.length === 7 ? "; seconds and years are not supported" : "";
    throw new CronFault(
      `must have 5 fields (minute, hour, day of month, month, day of week); it has ${fields.length}${seconds}`,
    );
  }
  return [minute, hour, day, month, weekday];
}

function valuesOf(field: Field, text: string): readonly number[] {
  const values = new Set<number>();
  for (const item of text.split(",")) for (const value of itemOf(field, item)) values.add(value);
  return [...values].sort((a, b) => a - b);
}

function itemOf(field: Field, item: string): readonly number[] {
  if (item === "") throw fault(field, "has an empty list item; write lists as 1,2,3");
  const [span = "", step, ...more] = item.split("/");
  if (more.length > 0) throw fault(field, `${shown(item)} has two steps`);
  const [first, last] = spanOf(field, span, item);
  if (step === undefined) return numbers(first, last, 1);
  if (first === last && !span.includes("-")) {
    throw fault(field, `${shown(item)} is a step without a range; write ${first}-${field.max}/${step}`);
  }
  const longest = field.max - field.min;
  if (!/^\d{1,3}$/.test(step) || Number(step) < 1 || Number(step) > longest) {
    throw fault(field, `${shown(item)} has a step that is not from 1 to ${longest}`);
  }
  return numbers(first, last, Number(step));
}

function spanOf(field: Field, span: string, item: string): readonly [number, number] {
  if (span === "*") return [field.min, field === WEEKDAY ? 6 : field.max];
  const [from = "", to, ...more] = span.split("-");
  if (more.length > 0) throw fault(field, `${shown(item)} is not a range; write 1-5`);
  const first = valueOf(field, from, item);
  if (to === undefined) return [first, first];
  const last = valueOf(field, to, item);
  // At the end of a range, SUN is day 7.
  const end = last === 0 && first > 0 && field === WEEKDAY && /^sun$/i.test(to) ? 7 : last;
  if (end < first) throw fault(field, `${shown(item)} runs backward`);
  return [first, end];
}

function valueOf(field: Field, text: string, item: string): number {
  const named = field.names.indexOf(text.toUpperCase());
  if (named !== -1) return named + field.min;
  if (!/^\d{1,3}$/.test(text)) {
    const foreign = /[?LW#H]/i.test(text) ? "; ?, L, W, # and H are not supported" : "";
    const names = field.names.length === 0 ? "" : ` or a name such as ${field.names[1]}`;
    throw fault(field, `${shown(item)} is not a number from ${field.min} to ${field.max}${names}${foreign}`);
  }
  const value = Number(text);
  if (value < field.min || value > field.max) {
    throw fault(field, `${shown(item)} is not from ${field.min} to ${field.max}`);
  }
  return value;
}

function numbers(first: number, last: number, step: number): readonly number[] {
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

function fault({ title }: Field, message: string): CronFault {
  return new CronFault(`${title}: ${message}`);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
