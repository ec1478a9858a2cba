/**
 * The next step after an action: the next action of the plan, another observation, or a wait until something changes.
 */
export type Outcome = 'continue' | 'observe_again' | 'wait';
