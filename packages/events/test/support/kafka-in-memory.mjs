// A broker with one partition for every topic, of the shape of the client that the README uses.
const logs = new Map();
const logOf = (topic) => logs.get(topic) ?? logs.set(topic, []).get(topic);

export class Kafka {
  producer() {
    return {
      connect: async () => undefined,
      disconnect: async () => undefined,
      async sendBatch({ topicMessages }) {
        for (const { topic, messages } of topicMessages) {
          for (const { key, value, headers } of messages) {
            const id = Buffer.from(headers.id);
            logOf(topic).push({
              key: key === null ? null : Buffer.from(key),
              value: Buffer.from(value),
              headers: { id },
            });
          }
        }
      },
    };
  }

  consumer() {
    const positions = new Map();
    let timer;
    return {
      connect: async () => undefined,
      disconnect: async () => clearInterval(timer),
      subscribe: async ({ topics }) => topics.forEach((topic) => positions.set(topic, 0)),
      seek: ({ topic, offset }) => positions.set(topic, Number(offset)),
      commitOffsets: async ([{ topic, offset }]) => positions.set(topic, Number(offset)),
      async run({ eachMessage }) {
        let busy = false;
        const look = async () => {
          if (busy) return;
          busy = true;
          for (const [topic, position] of positions) {
            const message = logOf(topic)[position];
            if (message === undefined) continue;
            const pause = () => () => undefined;
            const offset = String(position);
            await eachMessage({ topic, partition: 0, message: { ...message, offset }, pause });
          }
          busy = false;
        };
        timer = setInterval(() => void look(), 5);
      },
    };
  }
}
