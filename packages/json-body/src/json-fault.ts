/**
 * Returns the offset in UTF-16 code units at which a string stops being JSON: the first unexpected character, or the
 * string's length if it ends too early. Replaces the messages of `JSON.parse`, which quote the string and often have
 * no position. `JSON.parse` must have rejected the string. Not recursive.
 */
export function faultPosition(text: string): number {
  const closers: string[] = [];
  let i = skipSpace(text, 0);
  for (;;) {
    const opened = text[i];
    if (opened === "[" || opened === "{") {
      const closer = opened === "[" ? "]" : "}";
      i = skipSpace(text, i + 1);
      if (text[i] !== closer) {
        closers.push(closer);
        const at = closer === "}" ? afterKey(text, i) : i;
        if (at < 0) return ~at;
        i = at;
        continue;
      }
      i += 1;
    } else {
      const at = afterScalar(text, i);
      if (at < 0) return ~at;
      i = at;
    }
    // A value is complete: close the objects and arrays that end here, then continue with the next value.
    for (;;) {
      i = skipSpace(text, i);
      const closer = closers.at(-1);
      if (closer === undefined) return i;
      if (text[i] === closer) {
        closers.pop();
        i += 1;
        continue;
      }
      if (text[i] !== ",") return i;
      i = skipSpace(text, i + 1);
      const at = closer === "}" ? afterKey(text, i) : i;
      if (at < 0) return ~at;
      i = at;
      break;
    }
  }
}

// Each of these functions returns the offset after the text that it read, or the complement (~) of the fault's offset.

function afterKey(text: string, start: number): number {
  if (text[start] !== '"') return ~start;
  const end = afterString(text, start);
  if (end < 0) return end;
  const colon = skipSpace(text, end);
  return text[colon] === ":" ? skipSpace(text, colon + 1) : ~colon;
}

function afterScalar(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return afterString(text, start);
  if (first === "t") return afterWord(text, start, "true");
  if (first === "f") return afterWord(text, start, "false");
  if (first === "n") return afterWord(text, start, "null");
  return afterNumber(text, start);
}

function afterWord(text: string, start: number, word: string): number {
  for (let i = 0; i < word.length; i += 1) if (text[start + i] !== word[i]) return ~(start + i);
  return start + word.length;
}

function afterString(text: string, start: number): number {
  let i = start + 1;
  for (; i < text.length; i += 1) {
    const char = text[i] ?? "";
    if (char === '"') return i + 1;
    if (char < " ") return ~i;
    if (char !== "\\") continue;
    i += 1;
    const escaped = text[i] ?? "";
    if (escaped === "u") {
      for (const end = i + 4; i < end; i += 1) if (!isHex(text[i + 1])) return ~Math.min(i + 1, text.length);
    } else if (escaped === "" || !'"\\/bfnrt'.includes(escaped)) return ~Math.min(i, text.length);
  }
  return ~text.length;
}

function afterNumber(text: string, start: number): number {
  let i = text[start] === "-" ? start + 1 : start;
  if (text[i] === "0") i += 1;
  else {
    const end = afterDigits(text, i);
    if (end === i) return ~i;
    i = end;
  }
  if (text[i] === ".") {
    const end = afterDigits(text, i + 1);
    if (end === i + 1) return ~end;
    i = end;
  }
  if (text[i] === "e" || text[i] === "E") {
    const digits = text[i + 1] === "+" || text[i + 1] === "-" ? i + 2 : i + 1;
    const end = afterDigits(text, digits);
    if (end === digits) return ~end;
    i = end;
  }
  return i;
}

function afterDigits(text: string, start: number): number {
  let i = start;
  while (isDigit(text[i])) i += 1;
  return i;
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= "0" && char <= "9";
}

function isHex(char: string | undefined): boolean {
  if (char === undefined) return false;
  return isDigit(char) || (char >= "a" && char <= "f") || (char >= "A" && char <= "F");
}

function skipSpace(text: string, start: number): number {
  let i = start;
  while (text[i] === " " || text[i] === "\n" || text[i] === "\r" || text[i] === "\t") i += 1;
  return i;
}
