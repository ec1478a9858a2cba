import { briefLock, openQueue, type StoreKind } from './queue-stores.ts';

// Takes one ticket, says so, and never lets it go: node queue-reader-process.ts KIND URL
const [kind, url] = process.argv.slice(2) as [StoreKind, string];
const taken = await openQueue(kind, url, { lock: briefLock }).reader('default').next(new AbortController().signal);
process.stdout.write(`${taken?.ticket.jobId}\n`);
setInterval(() => {}, 1000);
