import { scan } from "./json-scan.ts";

// Matches `name:rest` where `rest` is not a port number; a slash after it is then part of an unescaped password.
const passwordLike = /^[^:[\]]*:(?!\d*$)/;

function endsUrl(code: number): boolean {
  return code <= 0x20 || code === 0x22 || code === 0x3c || code === 0x3e || code === 0x60;
}

/** Replaces the `user:password@` of every URL in a string, in one pass. */
export function withoutUserInfo(text: string, censor: string): string {
  let clean = "";
  let copied = 0;
  let runStop = -1;
  let lastAt = -1;
  for (let from = text.indexOf("://"); from !== -1;) {
    const start = from + 3;
    if (start > runStop) {
      lastAt = -1;
      runStop = scan(text, start, endsUrl);
      for (let i = start; i < runStop; i++) if (text.charCodeAt(i) === 0x40) lastAt = i;
    }
    let at = -1;
    let end = start;
    for (; end < runStop; end++) {
      const char = text[end];
      if (char === "@") at = end;
      else if (char === "/" || char === "?" || char === "#") break;
    }
    if (at === -1 && lastAt > start && passwordLike.test(text.slice(start, end))) at = lastAt;
    if (at > start) {
      clean += text.slice(copied, start) + censor;
      copied = at;
    }
    from = text.indexOf("://", Math.max(start, at));
  }
  return copied === 0 ? text : clean + text.slice(copied);
}
