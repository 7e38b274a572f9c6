// Sends requests to a proxy in another process. It ends with the process that started it.
import { Pool } from "undici";

const CONCURRENT = 16;

const pool = new Pool(process.argv[2] ?? "", { connections: CONCURRENT });

async function sendAll(count: number): Promise<void> {
  let left = count;
  let failed = 0;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const { statusCode, body } = await pool.request({ method: "GET", path: "/api/items/10" });
      await body.dump();
      if (statusCode !== 200) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  process.send?.(failed);
}

process.on("message", (count) => void sendAll(Number(count)));
process.once("disconnect", () => process.exit());
