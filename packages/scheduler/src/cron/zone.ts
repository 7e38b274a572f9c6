/** How far the clocks of a zone are ahead of UTC, in milliseconds, at a moment. */
export type OffsetAt = (ms: number) => number;

const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** @throws RangeError for what is no zone */
export function offsetsOf(zone: string): OffsetAt {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  if (format.resolvedOptions().timeZone === "UTC") return () => 0;
  return (ms) => {
    const [, sign, hours, minutes, seconds = 0] = OFFSET.exec(format.format(ms)) ?? [];
    const size = (Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds)) * 1000;
    return sign === "-" ? -size : size;
  };
}
