import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;

/** Prints the defaults of every ConfigDef of the Kafka release on the class path: scope, name, type, default, each after a tab. */
public class ConfigDefaults {
    private static final String[][] PLACES = {
        {"broker", "org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF"},
        {"broker", "kafka.server.KafkaConfig$", "configDef"},
        {"broker", "kafka.server.KafkaConfig$", "kafka$server$KafkaConfig$$configDef"},
        {"dynamic", "org.apache.kafka.server.config.QuotaConfig", "brokerQuotaConfigs"},
        {"dynamic", "org.apache.kafka.server.config.QuotaConfigs", "brokerQuotaConfigs"},
        {"dynamic", "kafka.server.DynamicConfig$Broker$", "brokerConfigDef"},
        {"dynamic", "kafka.server.DynamicConfig$Broker$", "kafka$server$DynamicConfig$Broker$$brokerConfigDef"},
        {"topic", "org.apache.kafka.storage.internals.log.LogConfig", "CONFIG"},
        {"topic", "kafka.log.LogConfig$", "configDef"},
        {"topic", "kafka.log.LogConfig$", "kafka$log$LogConfig$$configDef"},
        {"producer", "org.apache.kafka.clients.producer.ProducerConfig", "CONFIG"},
        {"producer", "org.apache.kafka.clients.producer.ProducerConfig", "config"},
        {"consumer", "org.apache.kafka.clients.consumer.ConsumerConfig", "CONFIG"},
        {"consumer", "org.apache.kafka.clients.consumer.ConsumerConfig", "config"},
        {"admin", "org.apache.kafka.clients.admin.AdminClientConfig", "CONFIG"},
    };

    public static void main(String[] arguments) throws Exception {
        TreeMap<String, String> done = new TreeMap<>();
        for (String[] place : PLACES) {
            if (done.containsKey(place[0])) {
                continue;
            }
            Object definition = member(place[1], place[2]);
            if (definition == null) {
                continue;
            }
            done.put(place[0], place[1]);
            Map<?, ?> keys = (Map<?, ?>) field(definition, "configKeys");
            for (Map.Entry<?, ?> entry : new TreeMap<Object, Object>(keys).entrySet()) {
                Object key = entry.getValue();
                Object none = none(definition.getClass());
                Object value = field(key, "defaultValue");
                String text = value == none ? "(required)" : String.valueOf(value);
                System.out.println(place[0] + "\t" + entry.getKey() + "\t" + field(key, "type") + "\t" + text);
            }
        }
        System.err.println(done);
    }

    private static Object none(Class<?> definition) throws Exception {
        try {
            return declared(definition, "NO_DEFAULT_VALUE").get(null);
        } catch (NoSuchFieldException error) {
            return new Object();
        }
    }

    private static Object field(Object object, String name) throws Exception {
        return declared(object.getClass(), name).get(object);
    }

    private static Field declared(Class<?> type, String name) throws NoSuchFieldException {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            try {
                Field field = each.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException error) {
                // it may be the parent's
            }
        }
        throw new NoSuchFieldException(name);
    }

    /** A static member, or one of a Scala object, by its name; null where the release has none. */
    private static Object member(String owner, String name) {
        try {
            Class<?> type = Class.forName(owner);
            Object instance = null;
            if (owner.endsWith("$")) {
                Field module = type.getDeclaredField("MODULE$");
                module.setAccessible(true);
                instance = module.get(null);
            }
            for (Class<?> each = type; each != null; each = each.getSuperclass()) {
                try {
                    Field field = each.getDeclaredField(name);
                    field.setAccessible(true);
                    Object found = field.get(instance);
                    if (found != null) {
                        return found;
                    }
                } catch (NoSuchFieldException error) {
                    // it may be a method
                }
                try {
                    Method method = each.getDeclaredMethod(name);
                    method.setAccessible(true);
                    return method.invoke(instance);
                } catch (NoSuchMethodException error) {
                    // it may be the parent's
                }
            }
            return null;
        } catch (Throwable error) {
            return null;
        }
    }
}
