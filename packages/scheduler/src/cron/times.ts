import { Cron } from "croner";
import type { Times } from "../times.ts";
import type { CronFields } from "./fields.ts";
import type { OffsetAt } from "./zone.ts";

const DAY_MS = 86_400_000;

interface Offsets {
  readonly least: number;
  readonly greatest: number;
}

/**
 * Returns the ticks of a cron expression in a zone (SCH-3). croner lists the local times without a zone; this function maps
 * each local time to instants in the zone:
 *
 * - A skipped local time moves forward by the size of the clock change. If it then coincides with another due time, the two
 *   are one tick.
 * - A repeated local time maps to its first occurrence, or to both occurrences if every hour is allowed.
 */
export function cronTimes(fields: CronFields, offsetAt: OffsetAt): Times {
  const calendar = calendarOf(fields);
  const everyHour = fields.hours.length === 24;

  /** Returns the smallest and largest offset near an instant, which bound the local times of nearby instants. */
  function offsetsNear(ms: number): Offsets {
    const wide = offsetsWithin(ms, DAY_MS);
    // A clock change affects only instants within twice its size.
    return wide.least === wide.greatest ? wide : offsetsWithin(ms, 2 * (wide.greatest - wide.least));
  }

  function offsetsWithin(ms: number, widthMs: number): Offsets {
    const offsets = [offsetAt(ms - widthMs), offsetAt(ms), offsetAt(ms + widthMs)];
    return { least: Math.min(...offsets), greatest: Math.max(...offsets) };
  }

  /** Returns the instants of a local time, which is encoded as if it were UTC. */
  function momentsOf(local: number): readonly number[] {
    const before = offsetAt(local - DAY_MS);
    const after = offsetAt(local + DAY_MS);
    const early = local - before;
    const late = local - after;
    if (before === after) return [early];
    if (offsetAt(late) === after) {
      const twice = late !== early && offsetAt(early) === before;
      return twice ? (everyHour ? [early, late] : [early]) : [late];
    }
    return [early];
  }

  return {
    after(ms) {
      const { least, greatest } = offsetsNear(ms);
      let local = calendar.nextAfter(ms + least);
      let best = Infinity;
      while (local !== undefined) {
        for (const moment of momentsOf(local)) if (moment > ms && moment < best) best = moment;
        if (best !== Infinity) {
          // Around a clock change, a later local time can be an earlier instant.
          const around = offsetsNear(best);
          if (least === greatest && around.least === around.greatest) break;
          if (local > best + around.greatest) break;
        }
        local = calendar.nextAfter(local);
      }
      return best;
    },
  };
}

interface Calendar {
  /** Returns the first local time after the given one, both encoded as if they were UTC. */
  nextAfter(local: number): number | undefined;
}

/**
 * Returns a calendar that passes plain lists of numbers to croner, so that croner's own rules for zones, names and
 * steps do not apply.
 */
function calendarOf({ minutes, hours, days, months, weekdays, bothDays }: CronFields): Calendar {
  const pattern = [
    minutes.join(),
    hours.join(),
    bothDays && days.length === 31 ? "*" : days.join(),
    months.join(),
    bothDays && weekdays.length === 7 ? "*" : weekdays.join(),
  ].join(" ");
  const cron = new Cron(pattern, { mode: "5-part", utcOffset: 0, domAndDow: bothDays, paused: true });
  return { nextAfter: (local) => cron.nextRun(new Date(local))?.getTime() };
}
