/** Returns the offset of a zone from UTC at an instant, in milliseconds. */
export type OffsetAt = (ms: number) => number;

const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;
const HOUR_MS = 3_600_000;
const MAX_HOURS = 256;

/**
 * Returns a function that creates each zone once and caches it by name: a zone takes most of the memory of a schedule.
 */
export function createZones(): (zone: string) => OffsetAt {
  const zones = new Map<string, OffsetAt>();
  return (zone) => {
    const offsetAt = zones.get(zone) ?? offsetsOf(zone);
    zones.set(zone, offsetAt);
    return offsetAt;
  };
}

/** Returns the offsets of a zone. @throws RangeError for an unknown zone */
export function offsetsOf(zone: string): OffsetAt {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  if (format.resolvedOptions().timeZone === "UTC") return () => 0;

  function read(ms: number): number {
    const [, sign, hours, minutes, seconds = 0] = OFFSET.exec(format.format(ms)) ?? [];
    const size = (Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds)) * 1000;
    return sign === "-" ? -size : size;
  }

  // The offsets are cached by hour of UTC, because reading one is by far the slowest step. NaN marks an hour in which the
  // offset changes.
  const hours = new Map<number, number>();
  return (ms) => {
    const hour = Math.floor(ms / HOUR_MS);
    let offset = hours.get(hour);
    if (offset === undefined) {
      const first = read(hour * HOUR_MS);
      offset = read((hour + 1) * HOUR_MS - 1) === first ? first : Number.NaN;
      if (hours.size >= MAX_HOURS) hours.clear();
      hours.set(hour, offset);
    }
    return Number.isNaN(offset) ? read(ms) : offset;
  };
}
