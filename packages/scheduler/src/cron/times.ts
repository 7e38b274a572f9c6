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
 * The moments of a cron expression in a zone (SCH-3). A calendar without a zone says which local times there are; what the
 * clocks of the zone make of each of them is decided here:
 *
 * - A local time that is skipped comes later by as much as the clocks are put forward, as if they had not been yet; it is one
 *   moment with a time that is due then anyway.
 * - A local time that comes twice is its first moment; both of them when every hour is allowed.
 */
export function cronTimes(fields: CronFields, offsetAt: OffsetAt): Times {
  const calendar = calendarOf(fields);
  const everyHour = fields.hours.length === 24;

  /** The least and the greatest offset near a moment: the local times of moments beside it lie between them. */
  function offsetsNear(ms: number): Offsets {
    const wide = offsetsWithin(ms, DAY_MS);
    // A change has an effect on twice its size before and after it, and on nothing further away.
    return wide.least === wide.greatest ? wide : offsetsWithin(ms, 2 * (wide.greatest - wide.least));
  }

  function offsetsWithin(ms: number, widthMs: number): Offsets {
    const offsets = [offsetAt(ms - widthMs), offsetAt(ms), offsetAt(ms + widthMs)];
    return { least: Math.min(...offsets), greatest: Math.max(...offsets) };
  }

  /** The moments of a local time, which is given as if it were one of UTC. */
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
          // Around a change of clocks a later local time may be an earlier moment.
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
  /** The next local time, later than one; both as if they were of UTC. */
  nextAfter(local: number): number | undefined;
}

/** Lists of numbers leave nothing to be read in one way or another: no zone, no names, no steps. */
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
