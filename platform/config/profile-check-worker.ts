import { parentPort, workerData } from 'node:worker_threads';
import { readWrittenProfiles } from './written-profiles.ts';

/** The thread of `checkProfiles`: it reads one text, and answers with what it says. */
parentPort?.postMessage(readWrittenProfiles(workerData as string), []);
