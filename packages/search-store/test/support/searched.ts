type Exec = (this: RegExp, text: string) => RegExpExecArray | null;

const prototype: { exec: Exec } = RegExp.prototype;

/** Returns how many characters regular expressions search while the work runs. */
export function searchedBy(work: () => void): number {
  const { exec } = prototype;
  let searched = 0;
  prototype.exec = function (text) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const found = exec.call(this, text);
    searched += (found === null ? text.length : found.index + found[0].length) - from;
    return found;
  };
  try {
    work();
  } finally {
    prototype.exec = exec;
  }
  return searched;
}
