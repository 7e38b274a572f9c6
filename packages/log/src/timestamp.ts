let second = -1;
let upToSecond = "";

/**
 * Returns the member `,"time":"..."` of a log record, in UTC with milliseconds. Formats the date only once per second.
 */
export function timeField(): string {
  const now = Date.now();
  const thisSecond = Math.floor(now / 1000);
  if (thisSecond !== second) {
    second = thisSecond;
    upToSecond = `,"time":"${new Date(thisSecond * 1000).toISOString().slice(0, 20)}`;
  }
  const ms = now - thisSecond * 1000;
  return `${upToSecond}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z"`;
}
