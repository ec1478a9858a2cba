import { describe, expect, test } from 'vitest';
import { openLine } from './queue-outage.ts';
import { isAvailable, newTicket, openQueue, openStore, storeKinds, taken } from './queue-stores.ts';

describe.concurrent.each(storeKinds)('the ticket queue on %s', (kind) => {
  describe.skipIf(!isAvailable(kind))('with a real server', () => {
    test('while the store is away a ticket is refused within two seconds, and afterwards all goes on', async (context) => {
      const { store } = await openStore(kind, context);
      const line = await openLine(store.url);
      const far = openQueue(kind, line.url);
      try {
        const reader = far.reader('default');
        await far.add(newTicket());
        expect(await taken(reader)).not.toBeNull();
        // A wait that began before the outage outlasts it.
        const ids: string[] = [];
        const reading = (async () => {
          for (let ticket = await taken(reader, 20_000); ticket; ticket = await taken(reader, 20_000))
            ids.push(ticket.jobId);
        })();
        for (const outage of [() => line.cut(), () => Promise.resolve(line.freeze())]) {
          await outage();
          const startedAt = performance.now();
          await expect(far.add(newTicket())).rejects.toThrow(Error);
          await expect(far.ping()).rejects.toThrow(Error);
          expect(performance.now() - startedAt).toBeLessThan(4_500);
          await line.mend();
          await context.expect.poll(() => far.ping().then(() => 'up'), { timeout: 10_000 }).toBe('up');
        }
        const ticket = newTicket();
        await far.add(ticket);
        // What was on its way when the line froze may arrive as well: "refused" then means "not known".
        await context.expect.poll(() => ids, { timeout: 15_000 }).toContain(ticket.jobId);
        await far.close();
        await reading;
      } finally {
        await far.close();
        await line.close();
      }
    });

    test('connections that fall silent are replaced', async (context) => {
      const { store } = await openStore(kind, context);
      const line = await openLine(store.url);
      const far = openQueue(kind, line.url);
      try {
        const reader = far.reader('default');
        await far.add(newTicket());
        expect(await taken(reader)).not.toBeNull();
        const next = taken(reader, 60_000);
        line.stall();
        const ticket = newTicket();
        await context.expect.poll(() => far.add(ticket).then(() => 'added'), { timeout: 30_000 }).toBe('added');
        expect(await next).toEqual(ticket);
      } finally {
        await far.close();
        await line.close();
      }
    });
  });
});
