import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.Utils;

/**
 * Hashes of keys, and the partitions that each partitioner chooses. All random numbers come from one recorded list: the
 * generator of this thread starts each case with the same seed.
 */
public final class PartitionerChoices {
    private static final long SEED = 20_250_101L;
    private static final int NUMBERS = 400;
    private static final String INTERNAL_LOG_CONTEXT = "org.apache.kafka.common.utils.internals.LogContext";
    private static final String TOPIC = "t";
    private static final Node NODE = new Node(1, "localhost", 9092);
    private static final String INTERNALS = "org.apache.kafka.clients.producer.internals.";
    private static final Map<String, String[]> CLASSES = new LinkedHashMap<>();

    static {
        CLASSES.put("default", new String[] {INTERNALS + "DefaultPartitioner", INTERNALS + "Partitioner"});
        CLASSES.put("round robin", new String[] {"org.apache.kafka.clients.producer.RoundRobinPartitioner"});
        CLASSES.put("uniform sticky", new String[] {"org.apache.kafka.clients.producer.UniformStickyPartitioner"});
        CLASSES.put("built in", new String[] {INTERNALS + "BuiltInPartitioner"});
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> questions = Json.object(Json.readInput());
        Map<String, Object> answers = new LinkedHashMap<>();
        for (Object key : Json.list(questions.get("keys"))) {
            answers.put("murmur2/" + key, Utils.murmur2(bytes(key)));
        }
        answers.put("random numbers", randomNumbers());
        for (Map.Entry<String, Object> entry : Json.object(questions.get("cases")).entrySet()) {
            Map<String, Object> asked = Json.object(entry.getValue());
            Class<?> type = Reflection.type(CLASSES.get(asked.get("partitioner")));
            if (type != null) {
                seed();
                boolean builtIn = asked.get("partitioner").equals("built in");
                answers.put(entry.getKey(), builtIn ? builtIn(type, asked) : chosen(type, asked));
            }
        }
        Json.print(answers);
    }

    private static void seed() throws Exception {
        ThreadLocalRandom.current().nextInt();
        Field field = Reflection.field(Thread.class, "threadLocalRandomSeed");
        field.setLong(Thread.currentThread(), SEED);
    }

    private static List<Integer> randomNumbers() throws Exception {
        seed();
        List<Integer> found = new ArrayList<>();
        for (int count = 0; count < NUMBERS; count++) {
            found.add(ThreadLocalRandom.current().nextInt());
        }
        return found;
    }

    private static byte[] bytes(Object key) {
        if (key == null) {
            return null;
        }
        String digits = (String) key;
        byte[] found = new byte[digits.length() / 2];
        for (int at = 0; at < found.length; at++) {
            found[at] = (byte) Integer.parseInt(digits.substring(2 * at, 2 * at + 2), 16);
        }
        return found;
    }

    /** Partitions of a partitioner class: a step is [key, partitions with a leader, whether a new batch is needed]. */
    private static List<Integer> chosen(Class<?> type, Map<String, Object> asked) throws Exception {
        Object partitioner = Reflection.make(type);
        startCounter(partitioner);
        Method onNewBatch = Reflection.method(type, "onNewBatch", 3);
        boolean twice = asksAgain();
        List<Integer> found = new ArrayList<>();
        for (Object each : Json.list(asked.get("steps"))) {
            List<Object> step = Json.list(each);
            Cluster cluster = cluster(Json.number(asked.get("total")), Json.list(step.get(1)));
            int partition = partition(partitioner, bytes(step.get(0)), cluster);
            if (twice && Boolean.TRUE.equals(step.get(2))) {
                if (onNewBatch != null) {
                    onNewBatch.invoke(partitioner, TOPIC, cluster, partition);
                }
                partition = partition(partitioner, bytes(step.get(0)), cluster);
            }
            found.add(partition);
        }
        return found;
    }

    /** Whether the producer asks again for a record that needs a new batch: while partitioners have onNewBatch. */
    private static boolean asksAgain() {
        Class<?> type = Reflection.type("org.apache.kafka.clients.producer.Partitioner");
        return type != null && Reflection.method(type, "onNewBatch", 3) != null;
    }

    /** The counter of DefaultPartitioner starts with the first recorded number, whichever generator it has. */
    private static void startCounter(Object partitioner) throws Exception {
        try {
            Object counter = Reflection.get(partitioner, "counter");
            ((AtomicInteger) counter).set(ThreadLocalRandom.current().nextInt());
        } catch (NoSuchFieldException error) {
            startCounterOfTopic(partitioner);
        }
    }

    private static void startCounterOfTopic(Object partitioner) throws Exception {
        if (partitioner.getClass().getSimpleName().equals("DefaultPartitioner")) {
            try {
                Map<String, AtomicInteger> counters = counters(partitioner);
                counters.put(TOPIC, new AtomicInteger(ThreadLocalRandom.current().nextInt()));
            } catch (NoSuchFieldException error) {
                // a sticky partitioner
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, AtomicInteger> counters(Object partitioner) throws Exception {
        return (Map<String, AtomicInteger>) Reflection.get(partitioner, "topicCounterMap");
    }

    private static int partition(Object partitioner, byte[] key, Cluster cluster) throws Exception {
        if (Reflection.method(partitioner.getClass(), "partition", 6) != null) {
            return (Integer) Reflection.call(partitioner, "partition", TOPIC, key, key, null, null, cluster);
        }
        Class<?> record = Class.forName("org.apache.kafka.clients.producer.ProducerRecord");
        Object made = record.getConstructor(String.class, Object.class, Object.class).newInstance(TOPIC, key, null);
        return (Integer) Reflection.call(partitioner, "partition", made, cluster);
    }

    /** Partitions of the built-in partitioner: a step is [bytes, leaders, full before, full after, queues or null]. */
    private static List<Integer> builtIn(Class<?> type, Map<String, Object> asked) throws Exception {
        Object log = Reflection.make(
            Reflection.type("org.apache.kafka.common.utils.LogContext", INTERNAL_LOG_CONTEXT));
        int total = Json.number(asked.get("total"));
        int bytes = Json.number(asked.get("batch bytes"));
        boolean racks = type.getConstructors()[0].getParameterCount() == 5;
        Object partitioner =
            racks ? Reflection.make(type, log, TOPIC, bytes, false, "") : Reflection.make(type, log, TOPIC, bytes);
        List<Integer> found = new ArrayList<>();
        for (Object each : Json.list(asked.get("steps"))) {
            List<Object> step = Json.list(each);
            Cluster cluster = cluster(total, Json.list(step.get(1)));
            if (step.get(4) != null) {
                loadStatistics(partitioner, total, Json.list(step.get(4)));
            }
            Object current = Reflection.call(partitioner, "peekCurrentPartitionInfo", cluster);
            if (Boolean.TRUE.equals(step.get(2))) {
                Reflection.call(partitioner, "updatePartitionInfo", current, 0, cluster, true);
                current = Reflection.call(partitioner, "peekCurrentPartitionInfo", cluster);
            }
            found.add((Integer) Reflection.call(current, "partition"));
            Reflection.call(
                partitioner, "updatePartitionInfo", current, Json.number(step.get(0)), cluster, step.get(3));
        }
        return found;
    }

    /** Queue sizes of all partitions: [partition, batches]; partitions left out are not eligible. */
    private static void loadStatistics(Object partitioner, int total, List<Object> queues) throws Exception {
        int[] sizes = new int[total];
        int[] partitions = new int[total];
        for (int at = 0; at < queues.size(); at++) {
            partitions[at] = Json.number(Json.list(queues.get(at)).get(0));
            sizes[at] = Json.number(Json.list(queues.get(at)).get(1));
        }
        int eligible = queues.size();
        if (Reflection.method(partitioner.getClass(), "updatePartitionLoadStats", 4) != null) {
            Reflection.call(partitioner, "updatePartitionLoadStats", sizes, partitions, new String[total], eligible);
        } else {
            Reflection.call(partitioner, "updatePartitionLoadStats", sizes, partitions, eligible);
        }
    }

    private static Cluster cluster(int total, List<Object> led) throws Exception {
        List<PartitionInfo> partitions = new ArrayList<>();
        for (int number = 0; number < total; number++) {
            Node leader = led.contains((long) number) ? NODE : null;
            Node[] replicas = {NODE};
            partitions.add(new PartitionInfo(TOPIC, number, leader, replicas, replicas));
        }
        List<Node> nodes = Arrays.asList(NODE);
        for (int parameters : new int[] {5, 3, 2}) {
            for (java.lang.reflect.Constructor<?> made : Cluster.class.getConstructors()) {
                if (made.getParameterCount() == parameters) {
                    Object[] all = {"cluster", nodes, partitions, Collections.emptySet(), Collections.emptySet()};
                    Object[] few = {nodes, partitions, Collections.emptySet()};
                    return (Cluster) made.newInstance(parameters == 5 ? all : Arrays.copyOf(few, parameters));
                }
            }
        }
        throw new IllegalStateException("no constructor of Cluster");
    }
}
