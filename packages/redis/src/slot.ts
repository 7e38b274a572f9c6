const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 8;
  for (let bit = 0; bit < 8; bit++) sum = sum & 0x8000 ? (sum << 1) ^ 0x1021 : sum << 1;
  return sum & 0xffff;
});

/** Returns the slot of a key in a Redis Cluster. If the first braces contain a string, only that string counts. */
export function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = open === -1 ? -1 : key.indexOf("}", open + 1);
  const counted = close > open + 1 ? key.slice(open + 1, close) : key;
  let sum = 0;
  for (const byte of Buffer.from(counted)) sum = ((sum << 8) & 0xffff) ^ (TABLE[(sum >> 8) ^ byte] ?? 0);
  return sum % 16_384;
}
