import { createHash } from "node:crypto";

// An in-memory broker with three partitions per topic and shared groups, with the client interface that the README
// uses. Offsets belong to the group and return to the last commit when a member joins or leaves.
const PARTITIONS = 3;
const topics = new Map();
const groups = new Map();
let turn = 0;

const made = (map, key, make) => map.get(key) ?? map.set(key, make()).get(key);
const logsOf = (topic) => made(topics, topic, () => Array.from({ length: PARTITIONS }, () => []));
const partitionOf = (key) =>
  key === null ? turn++ % PARTITIONS : createHash("md5").update(key).digest()[0] % PARTITIONS;

function producer() {
  let open = false;
  return {
    connect: async () => void (open = true),
    disconnect: async () => void (open = false),
    async sendBatch({ topicMessages }) {
      if (!open) throw new Error("the producer is disconnected");
      for (const { topic, messages } of topicMessages) {
        for (const { key, value, headers } of messages) {
          const bytes = key === null ? null : Buffer.from(key);
          const record = { key: bytes, value: Buffer.from(value), headers: { id: Buffer.from(headers.id) } };
          logsOf(topic)[partitionOf(key)].push(record);
        }
      }
    },
  };
}

function consumer({ groupId }) {
  const group = made(groups, groupId, () => ({ members: [], committed: new Map(), positions: new Map() }));
  const self = { topics: new Set(), busy: new Set(), paused: new Set() };
  let timer;
  const rebalance = () => (group.positions = new Map(group.committed));
  const mine = (topic, partition) => {
    const able = group.members.filter((each) => each.topics.has(topic));
    return able[partition % able.length] === self;
  };

  async function handle(eachMessage, topic, partition) {
    const place = `${topic}/${partition}`;
    const at = group.positions.get(place) ?? 0;
    const record = logsOf(topic)[partition][at];
    if (record === undefined || !mine(topic, partition)) return;
    self.busy.add(place);
    group.positions.set(place, at + 1);
    const pause = () => {
      self.paused.add(place);
      return () => self.paused.delete(place);
    };
    const message = { ...record, offset: String(at) };
    await eachMessage({ topic, partition, message, pause, heartbeat: async () => undefined });
    self.busy.delete(place);
  }

  return {
    connect: async () => undefined,
    subscribe: async (asked) => {
      for (const topic of asked.topics) self.topics.add(topic);
    },
    seek: ({ topic, partition, offset }) => group.positions.set(`${topic}/${partition}`, Number(offset)),
    async commitOffsets([{ topic, partition, offset }]) {
      group.committed.set(`${topic}/${partition}`, Number(offset));
    },
    async run({ eachMessage, partitionsConsumedConcurrently }) {
      group.members.push(self);
      rebalance();
      timer = setInterval(() => {
        for (const topic of self.topics) {
          for (let partition = 0; partition < PARTITIONS; partition++) {
            const place = `${topic}/${partition}`;
            if (self.busy.size >= partitionsConsumedConcurrently) return;
            if (!self.busy.has(place) && !self.paused.has(place)) void handle(eachMessage, topic, partition);
          }
        }
      }, 1);
    },
    async disconnect() {
      clearInterval(timer);
      while (self.busy.size > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      group.members = group.members.filter((each) => each !== self);
      rebalance();
    },
  };
}

export class Kafka {
  producer = producer;
  consumer = consumer;
}
