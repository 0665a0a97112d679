#include "tuner/evaluator_internal.h"

void queue_push(queue *q, candidate *c)
{
    c->next = NULL;
    if (q->last)
        q->last->next = c;
    else
        q->first = c;
    q->last = c;
    q->n++;
}

void queue_insert(queue *q, candidate *c)
{
    candidate **link = &q->first;
    if (!q->last || q->last->id < c->id) {
        queue_push(q, c);
        return;
    }
    while ((*link)->id < c->id)
        link = &(*link)->next;
    c->next = *link;
    *link = c;
    q->n++;
}

candidate *queue_pop(queue *q)
{
    candidate *c = q->first;
    if (!c)
        return NULL;
    q->first = c->next;
    if (!q->first)
        q->last = NULL;
    q->n--;
    return c;
}
