import { setTimeout as wait } from 'node:timers/promises';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { kubeConfigFileCredentials } from '#platform/kubernetes/credentials.ts';
import { LeaderElector, NotLeader } from '#platform/kubernetes/leader-elector.ts';
import { configMaps } from './kinds.ts';

// A process of its own that writes into a ConfigMap all the time while it leads, so that a test can pause it for real.
// Arguments: a kubeconfig's path, and a namespace. It says what it did on standard output, a word a line.

const [kubeconfigPath = '', namespace = ''] = process.argv.slice(2);
const client = new KubeClient(await kubeConfigFileCredentials(kubeconfigPath));
const say = (word: string) => process.stdout.write(`${word}\n`);
const log = { warn: () => {}, error: () => {} };

const elector = new LeaderElector({
  client,
  namespace,
  name: 'leader',
  identity: 'paused',
  log,
  termMs: 3000,
  deadlineMs: 2000,
  renewEveryMs: 400,
  retryEveryMs: 150,
  onStarted: (term) => {
    const guarded = client.guardedBy(term.guard);
    void (async () => {
      for (let n = 0; ; n += 1) {
        // A careless and busy leader: it does not look at the term's signal, and is nearly always about to write.
        for (const until = performance.now() + 20; performance.now() < until;);
        try {
          await guarded.mergePatch(configMaps, { namespace, name: 'work' }, { data: { by: 'paused', n: String(n) } });
          say('wrote');
        } catch (error) {
          say(error instanceof NotLeader ? 'refused' : 'failed');
        }
        await wait(0);
      }
    })();
  },
  onStopped: () => void say('stopped'),
});
await elector.start();
